package plan

// leaves are ACTIONs, and where each is in the plan.
type leaves struct {
	ids []TaskID
	at  []int
}

// shape is what follows from a plan alone.
type shape struct {
	children map[TaskID][]TaskID // DECOMPOSE, in plan order
	checks   map[TaskID]TaskID   // by the ACTION that they review
	limits   Config              // the plan's, with the defaults

	planning   []TaskID            // the tasks that make plans
	grafted    map[TaskID]bool     // those of them whose plan is part of this one
	dependants map[TaskID][]TaskID // ACTIONs, by what they depend on
	assembles  map[TaskID][]TaskID // GOALs, by the ACTION that assembles them
	acts       bool                // some task judges or decides
	elsewhere  map[TaskID]bool     // GOALs with a task below them that was done elsewhere
}

func shapeOf(p *Plan) *shape {
	h := &shape{
		children: map[TaskID][]TaskID{}, checks: make(map[TaskID]TaskID, len(p.Tasks)/2),
		limits: p.Limits(), dependants: map[TaskID][]TaskID{}, assembles: map[TaskID][]TaskID{},
		grafted: make(map[TaskID]bool, len(p.Grafts)), elsewhere: map[TaskID]bool{},
	}
	for _, g := range p.Grafts {
		h.grafted[g.TaskID] = true
	}
	for _, t := range p.Tasks {
		if t.NodeType == Action {
			h.acts = h.acts || t.Judges != nil || t.Decides != nil
			if t.Planning() {
				h.planning = append(h.planning, t.TaskID)
			}
			for _, d := range t.DependsOn {
				if list := h.dependants[d]; len(list) == 0 || list[len(list)-1] != t.TaskID { // else it names d twice
					h.dependants[d] = append(list, t.TaskID)
				}
			}
		}
		if f := t.FinalDeliverableSpec; f != nil && f.AssembleTaskID != "" {
			h.assembles[f.AssembleTaskID] = append(h.assembles[f.AssembleTaskID], t.TaskID)
		}
		switch {
		case t.NodeType == Check:
			h.checks[t.ReviewTargetTaskID] = t.TaskID
		case t.ParentTaskID != "":
			h.children[t.ParentTaskID] = append(h.children[t.ParentTaskID], t.TaskID)
		}
	}
	above := make(map[TaskID]TaskID, len(p.Tasks))
	for _, t := range p.Tasks {
		above[t.TaskID] = t.ParentTaskID
	}
	for _, t := range p.Tasks {
		for id := t.ParentTaskID; t.DoneElsewhere != "" && id != "" && !h.elsewhere[id]; id = above[id] {
			h.elsewhere[id] = true
		}
	}
	return h
}
