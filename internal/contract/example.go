package contract

import (
	"embed"
	"slices"
	"strings"
)

//go:embed examples
var examples embed.FS

// Example is a reply of one kind as a prompt shows it to an agent, in JSON of several lines with a newline at its end;
// nil if the role has no such reply.
func Example(role Role, result ResultType) []byte {
	if !slices.Contains(role.Results(), result) {
		return nil
	}
	name := strings.ToLower(string(result))
	if result == Artifact && role != RoleAction {
		name = string(role)
	}
	data, err := examples.ReadFile("examples/" + name + ".json")
	if err != nil {
		return nil
	}
	return data
}
