package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"gitwf/internal/plain"
)

// SARIF is the report as a document for services that show findings (OASIS, "Static Analysis Results Interchange
// Format" 2.1.0, section 3). What a waiver lets pass is in it, suppressed. version is the program's.
func (r *Report) SARIF(version string) any {
	type object = map[string]any
	text := func(s string) object { return object{"text": s} }
	var codes []string
	rules, results := []object{}, []object{}
	for i, f := range slices.Concat(r.Findings, r.Waived) {
		if !slices.Contains(codes, f.Code) {
			codes = append(codes, f.Code)
			rules = append(rules, object{"id": f.Code, "shortDescription": text(
				"What would land is not what was approved (" + f.Code + ").")})
		}
		sum := sha256.Sum256([]byte(f.Code + "\x00" + f.Path + "\x00" + string(f.Commit)))
		result := object{
			"ruleId": f.Code, "ruleIndex": slices.Index(codes, f.Code), "level": "error", "message": text(f.long()),
			"locations": []object{{"physicalLocation": object{
				"artifactLocation": object{"uri": (&url.URL{Path: f.Path}).String()},
				"region":           object{"startLine": 1}, // services demand a line
			}}},
			"partialFingerprints": object{"gitWf/v1": hex.EncodeToString(sum[:])},
		}
		if i >= len(r.Findings) {
			result["suppressions"] = []object{{"kind": "external", "justification": f.Message}}
		}
		results = append(results, result)
	}
	return object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []object{{
			"tool":    object{"driver": object{"name": "git-wf", "version": version, "rules": rules}},
			"results": results,
		}},
	}
}

// Annotations are the report as workflow commands of GitHub, which shows them next to the files of a pull request. It
// has all findings: the service cuts the list where it wants, and the log keeps the rest.
func (r *Report) Annotations() []string {
	var lines []string
	if r.Note != "" {
		lines = append(lines, notice(r.Note))
	}
	if r.Empty {
		lines = append(lines, notice(NoCommits))
	}
	for _, f := range r.Findings {
		lines = append(lines, f.annotation("error"))
	}
	for _, f := range r.Waived {
		lines = append(lines, f.annotation("notice"))
	}
	return lines
}

// NoCommits is what is said of a range without commits.
const NoCommits = "the range selects no commit"

// notice is a workflow command of GitHub that shows a text.
func notice(text string) string {
	return plain.Text("::notice title=git wf::" + escapeData(text))
}

// annotation is one workflow command. Paths and messages hold what somebody else wrote: without the escapes, a line
// feed in one of them would begin a command of its own.
func (f Finding) annotation(level string) string {
	return plain.Text(fmt.Sprintf("::%s file=%s,title=%s::%s",
		level, escapeProperty(f.Path), escapeProperty("git wf: "+f.Code), escapeData(f.long())))
}

// long says what is wrong, where, and which command fixes it.
func (f Finding) long() string {
	text := f.Where() + ": " + f.Message
	if f.Hint != "" {
		text += "\nhint: " + f.Hint
	}
	return text
}

// Where is the path of the finding, after its commit if it has one.
func (f Finding) Where() string {
	if f.Commit == "" {
		return f.Path
	}
	return fmt.Sprintf("%.12s: %s", f.Commit, f.Path)
}

func escapeData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func escapeProperty(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(escapeData(s))
}
