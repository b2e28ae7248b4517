// Called by layers.go: {nodes: [[width, height]], edges: [[from, to]], ranker, quick} as JSON, to the centres of the nodes, the
// bends of the edges and the size of the whole, as JSON.
(function (text) {
  "use strict";
  const asked = JSON.parse(text);
  const g = new dagre.graphlib.Graph();
  g.setGraph({ rankdir: "LR", nodesep: 14, edgesep: 8, ranksep: 44, ranker: asked.ranker });
  g.setDefaultEdgeLabel(() => ({}));
  asked.nodes.forEach(([width, height], i) => g.setNode(String(i), { width, height }));
  asked.edges.forEach(([from, to]) => g.setEdge(String(from), String(to)));
  dagre.layout(g, { disableOptimalOrderHeuristic: asked.quick });
  const pair = ({ x, y }) => [x, y];
  return JSON.stringify({
    nodes: asked.nodes.map((_, i) => pair(g.node(String(i)))),
    edges: asked.edges.map(([from, to]) => g.edge(String(from), String(to)).points.map(pair)),
    width: g.graph().width,
    height: g.graph().height,
  });
});
