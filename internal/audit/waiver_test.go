package audit

import (
	"slices"
	"strings"
	"testing"

	"gitwf/internal/plan"
	"gitwf/internal/repotest"
)

// The review in the event of a waiver follows from the engine's last review and the waiver, or the event is none.
func TestWaiverReview(t *testing.T) {
	tests := []struct {
		name   string
		before func(r *repotest.Repo)
		edit   func(rev *plan.Review)
		want   string // in the message of wrong-event; "" if the event is sound
	}{
		{"as it follows", engineRejects, nil, ""},
		{"of a version that the engine never judged", func(*repotest.Repo) {}, nil,
			"the engine had not rejected that version"},
		{"another result", engineRejects, func(rev *plan.Review) {
			rev.Criteria[0].Result = plan.ResultPass
		}, "does not follow from"},
		{"by another minimum", engineRejects, func(rev *plan.Review) { rev.MinScore = 1 }, "does not follow from"},
		{"a criterion left out", engineRejects, func(rev *plan.Review) { rev.Criteria = nil }, "does not follow from"},
	}
	page := newPage(t)
	sound := page.Mark()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := page.In(t, sound)
			tt.before(r)
			snap, err := r.Open().Snapshot(t.Context(), repotest.ID)
			if err != nil {
				t.Fatal(err)
			}
			s := snap.State()
			task := s.Tasks["IMPL-2"].Task
			v, _ := snap.Records.Of("IMPL-2").Version(1)
			by := plan.Decision{By: "Eve", CreatedAt: repotest.Now, Reason: "today"}
			c := task.AcceptanceCriteria[0]
			rev := plan.Review{
				TaskID: "IMPL-2", ReviewedArtifactID: "v1", Tree: v.Files, Verdict: plan.Approved, Score: 100,
				MinScore: s.MinScore("IMPL-2"),
				Reviewer: plan.ReviewerChecks, CreatedAt: repotest.Now, SpecHash: task.SpecHash(),
				Criteria: []plan.CriterionResult{{
					ID: c.ID, Statement: c.Statement, Severity: c.Severity, Result: plan.ResultWaived, By: "Eve",
					Evidence: "waived: today",
				}},
			}
			if tt.edit != nil {
				tt.edit(&rev)
			}
			n := "1"
			if tt.want != "the engine had not rejected that version" {
				n = "2"
			}
			rev.ReviewID, rev.CheckTaskID = "r"+n, s.CheckOf("IMPL-2").TaskID
			dir := plan.TaskID("IMPL-2").Dir()
			waiver := plan.WaiverDocument{TaskID: "IMPL-2", ArtifactID: "v1", Tree: v.Files, Criterion: c.ID, Decision: by}
			old := plan.OID(r.Git("rev-parse", repotest.Ref))
			next := r.ForgeEvent(repotest.Ref, []string{
				"Wf-Event: waiver", "Wf-Task: IMPL-2", "Wf-Artifact: v1", "Wf-Criterion: A1", "Wf-Review: r" + n,
				"Wf-Verdict: APPROVED", "Wf-Score: 100", "Wf-Agent: checks",
			}, map[string]string{
				dir + "/waivers/w1-v1-A1.json":                        string(plan.Document(waiver)),
				dir + "/reviews/r" + n + "-v1-100-checks/review.json": string(plan.Document(rev)),
				dir + "/reviews/r" + n + "-v1-100-checks/APPROVED.md": "# APPROVED\n",
			})
			found := bothFind(t, r, old, next)
			wrong := func(f Finding) bool { return f.Code == "wrong-event" && strings.Contains(f.Message, tt.want) }
			if slices.ContainsFunc(found, wrong) != (tt.want != "") {
				t.Errorf("found %v, want %q", found, tt.want)
			}
		})
	}
}

func engineRejects(r *repotest.Repo) { r.Review("IMPL-2", 1, plan.ReviewerChecks, plan.Rejected, nil) }
