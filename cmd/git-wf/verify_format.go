package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/gate"
	"gitwf/internal/plan"
)

// The values of --format.
const (
	formatText   = "text"
	formatGitHub = "github"
	formatSARIF  = "sarif"
)

func formatFlag() cli.Flag {
	return &cli.StringFlag{Name: "format", Value: formatText,
		Usage: "print the findings as text, as annotations of a GitHub workflow (github) or as a SARIF document (sarif)"}
}

// reportFormat returns the format that the user wants the report in. It is looked at before anything is judged, so that
// a mistyped name costs no time.
func reportFormat(c *cli.Context) (string, error) {
	format := c.String("format")
	switch {
	case !slices.Contains([]string{formatText, formatGitHub, formatSARIF}, format):
		return "", usage("--format: expected text, github or sarif, found %q", format)
	case c.Bool("json") && c.IsSet("format"):
		return "", usage("--json and --format exclude each other")
	}
	return format, nil
}

// printAnnotations prints a report as workflow commands of GitHub, which shows them beside the files of a pull request.
// All findings are printed: the service cuts the list where it wants, and the log keeps the rest.
func (e *env) printAnnotations(r *gate.Report) error {
	for _, note := range []string{r.Note, map[bool]string{true: noCommits}[r.Empty]} {
		if note != "" {
			fmt.Fprintln(e.stdout, plan.Printable("::notice title=git wf::"+escapeData(note)))
		}
	}
	for _, f := range r.Findings {
		fmt.Fprintln(e.stdout, annotation("error", f))
	}
	for _, f := range r.Waived {
		fmt.Fprintln(e.stdout, annotation("notice", f))
	}
	if !r.OK() {
		return errSaid
	}
	e.printBundles(&gate.Report{Bundles: r.Bundles, Commits: r.Commits, Empty: r.Empty})
	return nil
}

// annotation is one workflow command. Paths and messages hold what somebody else wrote: without the escapes, a line
// feed in one of them would begin a command of its own.
func annotation(level string, f gate.Finding) string {
	return plan.Printable(fmt.Sprintf("::%s file=%s,title=%s::%s",
		level, escapeProperty(f.Path), escapeProperty("git wf: "+f.Code), escapeData(longMessage(f))))
}

// longMessage says what is wrong, where, and which command mends it.
func longMessage(f gate.Finding) string {
	text := f.Path + ": " + f.Message
	if f.Commit != "" {
		text = fmt.Sprintf("%.12s: %s", f.Commit, text)
	}
	if f.Hint != "" {
		text += "\nhint: " + f.Hint
	}
	return text
}

func escapeData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func escapeProperty(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(escapeData(s))
}

// The part of SARIF 2.1.0 that a report needs (OASIS, "Static Analysis Results Interchange Format", section 3).
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver sarifDriver `json:"driver"`
		} `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string    `json:"id"`
		ShortDescription sarifText `json:"shortDescription"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID              string             `json:"ruleId"`
		RuleIndex           int                `json:"ruleIndex"`
		Level               string             `json:"level"`
		Message             sarifText          `json:"message"`
		Locations           []sarifLocation    `json:"locations"`
		PartialFingerprints map[string]string  `json:"partialFingerprints"`
		Suppressions        []sarifSuppression `json:"suppressions,omitempty"`
	}
	sarifLocation struct {
		PhysicalLocation struct {
			ArtifactLocation struct {
				URI string `json:"uri"`
			} `json:"artifactLocation"`
			Region struct {
				StartLine int `json:"startLine"`
			} `json:"region"`
		} `json:"physicalLocation"`
	}
	sarifSuppression struct {
		Kind          string `json:"kind"`
		Justification string `json:"justification"`
	}
)

// sarif makes the document of a report. What a waiver lets pass is in it too, as suppressed.
func sarif(r *gate.Report) sarifLog {
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "git-wf", Version: version, Rules: []sarifRule{}}
	for _, f := range r.Findings {
		run.add(f)
	}
	for _, f := range r.Waived {
		run.add(f)
		run.Results[len(run.Results)-1].Suppressions = []sarifSuppression{{Kind: "external", Justification: f.Message}}
	}
	return sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}
}

func (r *sarifRun) add(f gate.Finding) {
	rules := &r.Tool.Driver.Rules
	index := slices.IndexFunc(*rules, func(known sarifRule) bool { return known.ID == f.Code })
	if index < 0 {
		index = len(*rules)
		*rules = append(*rules, sarifRule{ID: f.Code, ShortDescription: sarifText{ruleText(f.Code)}})
	}
	var at sarifLocation
	at.PhysicalLocation.ArtifactLocation.URI = (&url.URL{Path: f.Path}).String()
	at.PhysicalLocation.Region.StartLine = 1 // a finding is about a whole file, and services demand a line
	sum := sha256.Sum256([]byte(f.Code + "\x00" + f.Path + "\x00" + string(f.Commit)))
	r.Results = append(r.Results, sarifResult{
		RuleID: f.Code, RuleIndex: index, Level: "error", Message: sarifText{longMessage(f)}, Locations: []sarifLocation{at},
		PartialFingerprints: map[string]string{"gitWf/v1": hex.EncodeToString(sum[:])},
	})
}

// ruleText says what a finding with this code means.
func ruleText(code string) string {
	text, ok := map[string]string{
		"added":           "A file of a bundle is no approved version of any task.",
		"bundle-removed":  "A whole bundle was removed.",
		"candidates":      "A bundle may hold versions that nobody approved.",
		"changed":         "A file is not the version that was approved.",
		"foreign-commit":  "A manifest cites a commit that is not in its plan's history.",
		"manifest":        "A manifest can't be read, or yields no bundle.",
		"manifest-edited": "A manifest is not the one that the plan yields.",
		"missing":         "A file of an approved bundle is missing.",
		"mode":            "A file has another mode than the version that was approved.",
		"no-manifest":     "A bundle has no manifest that would prove it.",
		"no-plan":         "The plan that would prove a bundle is not in this repository.",
		"not-a-bundle":    "A path below a protected directory belongs to no bundle.",
		"overturned":      "A version was rejected after it had been approved.",
		"policy":          "A version lacks approvals that the policy demands.",
	}[code]
	if !ok {
		return "What would land is not what was approved (" + code + ")."
	}
	return text
}
