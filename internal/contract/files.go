package contract

import (
	"cmp"
	"errors"
	"fmt"

	"gitwf/internal/each"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/relpath"
)

const encodingBase64 = "base64"

// The names that the file of a plan may have.
const (
	planYAML = "plan.yaml"
	planJSON = "plan.json"
)

// files checks what an agent delivers in its reply. The paths are as hostile as those of a server.
func (j *replyReader) files(object map[string]any) []File {
	limits, usual := j.want.Limits, plan.DefaultConfig()
	limits.MaxArtifactFiles = cmp.Or(max(limits.MaxArtifactFiles, 0), usual.MaxArtifactFiles)
	limits.MaxArtifactBytes = cmp.Or(max(limits.MaxArtifactBytes, 0), usual.MaxArtifactBytes)
	list, _ := object["files"].([]any)
	switch {
	case len(list) == 0 && !j.want.FilesElsewhere:
		j.add(codeMissingField, "$.files", "at least one file", "none",
			`"files": [{"path": "report.md", "content": "..."}]`)
		return nil
	case len(list) == 0:
		return nil
	case len(list) > limits.MaxArtifactFiles:
		j.add(codeTooLarge, "$.files", "at most "+plain.Count(limits.MaxArtifactFiles, "file"),
			plain.Count(len(list), "file"), "deliver fewer files")
		return nil
	}
	var files []File
	var size int64
	for at, f := range items(object, "$", "files") {
		file := j.file(f, at)
		size += int64(len(file.Content))
		files = append(files, file)
	}
	if size > limits.MaxArtifactBytes {
		j.add(codeTooLarge, "$.files", fmt.Sprintf("at most %d bytes in all files", limits.MaxArtifactBytes),
			fmt.Sprintf("%d bytes", size), "deliver less")
	}
	j.collisions(files)
	j.planFile(files)
	return files
}

func (j *replyReader) file(f map[string]any, at string) File {
	file := File{Path: str(f, "path")}
	file.Executable, _ = f["executable"].(bool)
	var invalid *relpath.Error
	if errors.As(relpath.Check(file.Path), &invalid) {
		j.add(codeBadPath, at+".path", "a path that "+invalid.Rule, plain.Quote(file.Path), `"path": "docs/report.md"`)
	}
	data, ok := content(f)
	if !ok {
		j.add(codeBadEncoding, at+".content", "base64 of RFC 4648, section 4, with its padding",
			plain.Quote(str(f, "content")), `"content": "aGVsbG8K", "encoding": "base64"`)
	}
	file.Content = data
	return file
}

// collisions refuses two files where some file system has place for one, and a file where another needs a directory.
func (j *replyReader) collisions(files []File) {
	const isFile, isDirectory = 1, 2
	seen := map[string]int{}
	for i, f := range files {
		key := relpath.Fold(f.Path)
		clash := seen[key] != 0
		for n := range len(key) {
			if key[n] == '/' {
				clash = clash || seen[key[:n]] == isFile
				seen[key[:n]] |= isDirectory
			}
		}
		seen[key] |= isFile
		if clash {
			j.add(codeDuplicatePath, fmt.Sprintf("$.files[%d].path", i),
				"paths that differ in more than upper and lower case, none of them both file and directory",
				plain.Quote(f.Path), "give each file a path of its own")
		}
	}
}

// planFile checks that who was asked for a plan delivers one file, under a name that says how it is written.
func (j *replyReader) planFile(files []File) {
	if !j.want.Role.row().plan {
		return
	}
	if len(files) == 1 && (files[0].Path == planYAML || files[0].Path == planJSON) {
		return
	}
	paths := each.Of(files, func(f File) string { return plain.Quote(f.Path) })
	j.add(codeBadPath, "$.files", "exactly one file, "+planYAML+" or "+planJSON, some(paths),
		`"files": [{"path": "plan.yaml", "content": "..."}]`)
}
