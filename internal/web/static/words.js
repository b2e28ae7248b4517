// The page's texts in its language.
const words = JSON.parse(document.body.dataset.words) || {};

// word is a text in the page's language, with %s and %d filled in.
export function word(text, ...values) {
  let i = 0;
  return (words[text] || text).replace(/%[sd]/g, () => String(values[i++]));
}
