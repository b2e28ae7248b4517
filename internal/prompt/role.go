package prompt

import "gitwf/internal/contract"

// templateFile is the path of a role's template.
func templateFile(r contract.Role) string {
	return "prompts/" + string(r) + ".md"
}

// partsFile defines the blocks that the templates share.
const partsFile = "prompts/parts.md"
