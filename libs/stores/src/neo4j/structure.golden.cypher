// run //T (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, type, pathKey)
WHERE n1.live = $memory
  AND n1.type = $p0
  AND n1.pathKey > ''
  AND n1.born <= $revision AND n1.died > $revision
RETURN n1.born AS born, n1.id AS id, n1.parent AS parent, n1.pathKey AS pathKey
ORDER BY n1.live, n1.type, n1.pathKey;

// run //* (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey, null AS type
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, pathKey)
WHERE n1.live = $memory
  AND n1.pathKey > ''
  AND n1.born <= $revision AND n1.died > $revision
RETURN n1.born AS born, n1.id AS id, n1.parent AS parent, n1.pathKey AS pathKey, n1.type AS type
ORDER BY n1.live, n1.pathKey;

// run /A (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, parent, pathKey)
WHERE n1.live = $memory
  AND n1.parent = ''
  AND n1.type = $p0
  AND n1.pathKey > ''
  AND n1.born <= $revision AND n1.died > $revision
RETURN n1.born AS born, n1.id AS id, n1.parent AS parent, n1.pathKey AS pathKey
ORDER BY n1.live, n1.parent, n1.pathKey;

// run /* (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey, null AS type
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, parent, pathKey)
WHERE n1.live = $memory
  AND n1.parent = ''
  AND n1.pathKey > ''
  AND n1.born <= $revision AND n1.died > $revision
RETURN n1.born AS born, n1.id AS id, n1.parent AS parent, n1.pathKey AS pathKey, n1.type AS type
ORDER BY n1.live, n1.parent, n1.pathKey;

// run /A/B (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, parent, pathKey)
WHERE n1.live = $memory
  AND n1.parent = ''
  AND n1.type = $p0
  AND n1.pathKey > ''
  AND n1.born <= $revision AND n1.died > $revision
WITH n1
MATCH (n2:Node) USING INDEX SEEK n2:Node(live, type, pathKey)
WHERE n2.live = $memory
  AND n2.parent = n1.id
  AND n2.type = $p1
  AND n2.pathKey STARTS WITH n1.pathKey + '.'
  AND n2.born <= $revision AND n2.died > $revision
RETURN n2.born AS born, n2.id AS id, n2.parent AS parent, n2.pathKey AS pathKey;

// run /A/*/B (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, parent, pathKey)
WHERE n1.live = $memory
  AND n1.parent = ''
  AND n1.type = $p0
  AND n1.pathKey > ''
  AND n1.born <= $revision AND n1.died > $revision
WITH n1
MATCH (n2:Node) USING INDEX SEEK n2:Node(live, parent, pathKey)
WHERE n2.live = $memory
  AND n2.parent = n1.id
  AND n2.pathKey STARTS WITH n1.pathKey + '.'
  AND n2.born <= $revision AND n2.died > $revision
WITH n2
MATCH (n3:Node) USING INDEX SEEK n3:Node(live, type, pathKey)
WHERE n3.live = $memory
  AND n3.parent = n2.id
  AND n3.type = $p1
  AND n3.pathKey STARTS WITH n2.pathKey + '.'
  AND n3.born <= $revision AND n3.died > $revision
RETURN n3.born AS born, n3.id AS id, n3.parent AS parent, n3.pathKey AS pathKey;

// run /A//B (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, parent, pathKey)
WHERE n1.live = $memory
  AND n1.parent = ''
  AND n1.type = $p0
  AND n1.pathKey > ''
  AND n1.born <= $revision AND n1.died > $revision
WITH n1
MATCH (n2:Node) USING INDEX SEEK n2:Node(live, type, pathKey)
WHERE n2.live = $memory
  AND n2.type = $p1
  AND n2.pathKey STARTS WITH n1.pathKey + '.'
  AND n2.born <= $revision AND n2.died > $revision
RETURN n2.born AS born, n2.id AS id, n2.parent AS parent, n2.pathKey AS pathKey;

// run //A/B (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, type, pathKey)
WHERE n1.live = $memory
  AND n1.type = $p0
  AND n1.pathKey > ''
  AND n1.born <= $revision AND n1.died > $revision
WITH n1
MATCH (n2:Node) USING INDEX SEEK n2:Node(live, type, pathKey)
WHERE n2.live = $memory
  AND n2.parent = n1.id
  AND n2.type = $p1
  AND n2.pathKey STARTS WITH n1.pathKey + '.'
  AND n2.born <= $revision AND n2.died > $revision
RETURN n2.born AS born, n2.id AS id, n2.parent AS parent, n2.pathKey AS pathKey;

// run //A//B (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, type, pathKey)
WHERE n1.live = $memory
  AND n1.type = $p0
  AND n1.pathKey > ''
  AND n1.born <= $revision AND n1.died > $revision
WITH n1
MATCH (n2:Node) USING INDEX SEEK n2:Node(live, type, pathKey)
WHERE n2.live = $memory
  AND n2.type = $p1
  AND n2.pathKey STARTS WITH n1.pathKey + '.'
  AND n2.born <= $revision AND n2.died > $revision
WITH DISTINCT n2
RETURN n2.born AS born, n2.id AS id, n2.parent AS parent, n2.pathKey AS pathKey;

// run //A//B//C (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, type, pathKey)
WHERE n1.live = $memory
  AND n1.type = $p0
  AND n1.pathKey > ''
  AND n1.born <= $revision AND n1.died > $revision
WITH n1
MATCH (n2:Node) USING INDEX SEEK n2:Node(live, type, pathKey)
WHERE n2.live = $memory
  AND n2.type = $p1
  AND n2.pathKey STARTS WITH n1.pathKey + '.'
  AND n2.born <= $revision AND n2.died > $revision
WITH DISTINCT n2
MATCH (n3:Node) USING INDEX SEEK n3:Node(live, type, pathKey)
WHERE n3.live = $memory
  AND n3.type = $p2
  AND n3.pathKey STARTS WITH n2.pathKey + '.'
  AND n3.born <= $revision AND n3.died > $revision
WITH DISTINCT n3
RETURN n3.born AS born, n3.id AS id, n3.parent AS parent, n3.pathKey AS pathKey;

// run //*/*//T (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, type, pathKey)
WHERE n1.live = $memory
  AND n1.type = $p0
  AND n1.pathKey > ''
  AND n1.depth >= $p1
  AND n1.born <= $revision AND n1.died > $revision
RETURN n1.born AS born, n1.id AS id, n1.parent AS parent, n1.pathKey AS pathKey
ORDER BY n1.live, n1.type, n1.pathKey;

// run //A/*//* (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey, null AS type
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, type, pathKey)
WHERE n1.live = $memory
  AND n1.type = $p0
  AND n1.pathKey > ''
  AND n1.born <= $revision AND n1.died > $revision
WITH n1
MATCH (n2:Node) USING INDEX SEEK n2:Node(live, pathKey)
WHERE n2.live = $memory
  AND n2.pathKey STARTS WITH n1.pathKey + '.'
  AND n2.depth >= n1.depth + $p1
  AND n2.born <= $revision AND n2.died > $revision
WITH DISTINCT n2
RETURN n2.born AS born, n2.id AS id, n2.parent AS parent, n2.pathKey AS pathKey, n2.type AS type;

// run //T[3] (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, type, pathKey)
WHERE n1.live = $memory
  AND n1.type = $p0
  AND n1.pathKey > ''
  AND n1.born <= $revision AND n1.died > $revision
WITH n1 ORDER BY n1.live, n1.type, n1.pathKey SKIP toInteger($p1) LIMIT toInteger($p2)
RETURN n1.born AS born, n1.id AS id, n1.parent AS parent, n1.pathKey AS pathKey;

// run //T[-1] (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, type, pathKey)
WHERE n1.live = $memory
  AND n1.type = $p0
  AND n1.pathKey > ''
  AND n1.born <= $revision AND n1.died > $revision
WITH n1 ORDER BY n1.live DESC, n1.type DESC, n1.pathKey DESC SKIP toInteger($p1) LIMIT toInteger($p2)
RETURN n1.born AS born, n1.id AS id, n1.parent AS parent, n1.pathKey AS pathKey;

// run //T[2:5] (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, type, pathKey)
WHERE n1.live = $memory
  AND n1.type = $p0
  AND n1.pathKey > ''
  AND n1.born <= $revision AND n1.died > $revision
WITH n1 ORDER BY n1.live, n1.type, n1.pathKey SKIP toInteger($p1) LIMIT toInteger($p2)
RETURN n1.born AS born, n1.id AS id, n1.parent AS parent, n1.pathKey AS pathKey;

// run //T[-3:] (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, type, pathKey)
WHERE n1.live = $memory
  AND n1.type = $p0
  AND n1.pathKey > ''
  AND n1.born <= $revision AND n1.died > $revision
WITH n1 ORDER BY n1.live DESC, n1.type DESC, n1.pathKey DESC SKIP toInteger($p1) LIMIT toInteger($p2)
RETURN n1.born AS born, n1.id AS id, n1.parent AS parent, n1.pathKey AS pathKey;

// run //T[2:] (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, type, pathKey)
WHERE n1.live = $memory
  AND n1.type = $p0
  AND n1.pathKey > ''
  AND n1.born <= $revision AND n1.died > $revision
WITH n1 ORDER BY n1.live, n1.type, n1.pathKey SKIP toInteger($p1)
RETURN n1.born AS born, n1.id AS id, n1.parent AS parent, n1.pathKey AS pathKey;

// run //T[2:-2] (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, type, pathKey)
WHERE n1.live = $memory
  AND n1.type = $p0
  AND n1.pathKey > ''
  AND n1.born <= $revision AND n1.died > $revision
WITH n1 ORDER BY n1.live, n1.type, n1.pathKey
WITH collect(n1) AS nodes
UNWIND nodes[toInteger($p1)..CASE WHEN size(nodes) + 1 - toInteger($p2) < 0 THEN 0 ELSE size(nodes) + 1 - toInteger($p2) END] AS n1
WITH n1
RETURN n1.born AS born, n1.id AS id, n1.parent AS parent, n1.pathKey AS pathKey;

// run //T[-2:2] (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, type, pathKey)
WHERE n1.live = $memory
  AND n1.type = $p0
  AND n1.pathKey > ''
  AND n1.born <= $revision AND n1.died > $revision
WITH n1 ORDER BY n1.live, n1.type, n1.pathKey
WITH collect(n1) AS nodes
UNWIND nodes[CASE WHEN size(nodes) - toInteger($p1) < 0 THEN 0 ELSE size(nodes) - toInteger($p1) END..toInteger($p2)] AS n1
WITH n1
RETURN n1.born AS born, n1.id AS id, n1.parent AS parent, n1.pathKey AS pathKey;

// run /A/B[2] (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, parent, pathKey)
WHERE n1.live = $memory
  AND n1.parent = ''
  AND n1.type = $p0
  AND n1.pathKey > ''
  AND n1.born <= $revision AND n1.died > $revision
WITH n1
MATCH (n2:Node) USING INDEX SEEK n2:Node(live, type, pathKey)
WHERE n2.live = $memory
  AND n2.parent = n1.id
  AND n2.type = $p1
  AND n2.pathKey STARTS WITH n1.pathKey + '.'
  AND n2.born <= $revision AND n2.died > $revision
WITH n2 ORDER BY n2.pathKey SKIP toInteger($p2) LIMIT toInteger($p3)
RETURN n2.born AS born, n2.id AS id, n2.parent AS parent, n2.pathKey AS pathKey;

// run //A[2]//B (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, type, pathKey)
WHERE n1.live = $memory
  AND n1.type = $p0
  AND n1.pathKey > ''
  AND n1.born <= $revision AND n1.died > $revision
WITH n1 ORDER BY n1.live, n1.type, n1.pathKey SKIP toInteger($p1) LIMIT toInteger($p2)
MATCH (n2:Node) USING INDEX SEEK n2:Node(live, type, pathKey)
WHERE n2.live = $memory
  AND n2.type = $p3
  AND n2.pathKey STARTS WITH n1.pathKey + '.'
  AND n2.born <= $revision AND n2.died > $revision
RETURN n2.born AS born, n2.id AS id, n2.parent AS parent, n2.pathKey AS pathKey;

// run //A[-3:]/B[1] (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, type, pathKey)
WHERE n1.live = $memory
  AND n1.type = $p0
  AND n1.pathKey > ''
  AND n1.born <= $revision AND n1.died > $revision
WITH n1 ORDER BY n1.live DESC, n1.type DESC, n1.pathKey DESC SKIP toInteger($p1) LIMIT toInteger($p2)
MATCH (n2:Node) USING INDEX SEEK n2:Node(live, type, pathKey)
WHERE n2.live = $memory
  AND n2.parent = n1.id
  AND n2.type = $p3
  AND n2.pathKey STARTS WITH n1.pathKey + '.'
  AND n2.born <= $revision AND n2.died > $revision
WITH n2 ORDER BY n2.pathKey SKIP toInteger($p4) LIMIT toInteger($p5)
RETURN n2.born AS born, n2.id AS id, n2.parent AS parent, n2.pathKey AS pathKey;

// run //T[cost<20] (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, type, pathKey)
WHERE n1.live = $memory
  AND n1.type = $p0
  AND n1.pathKey > ''
  AND n1.born <= $revision AND n1.died > $revision
  AND n1[$p1] < $p2
RETURN n1.born AS born, n1.id AS id, n1.parent AS parent, n1.pathKey AS pathKey
ORDER BY n1.live, n1.type, n1.pathKey;

// run //T[name="x"] (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, type, pathKey)
WHERE n1.live = $memory
  AND n1.type = $p0
  AND n1.pathKey > ''
  AND n1.born <= $revision AND n1.died > $revision
  AND CASE WHEN n1[$p4] IS NULL THEN coalesce(n1[$p1], n1[$p2]) = $p3 ELSE $p5 IN n1[$p4] END
RETURN n1.born AS born, n1.id AS id, n1.parent AS parent, n1.pathKey AS pathKey
ORDER BY n1.live, n1.type, n1.pathKey;

// run //T[day!="2026-05-01"] (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, type, pathKey)
WHERE n1.live = $memory
  AND n1.type = $p0
  AND n1.pathKey > ''
  AND n1.born <= $revision AND n1.died > $revision
  AND CASE WHEN n1[$p6] IS NULL THEN CASE WHEN n1[$p4] IS NULL THEN coalesce(n1[$p1], n1[$p2]) <> $p3 ELSE n1[$p4] <> $p5 END ELSE NOT $p7 IN n1[$p6] END
RETURN n1.born AS born, n1.id AS id, n1.parent AS parent, n1.pathKey AS pathKey
ORDER BY n1.live, n1.type, n1.pathKey;

// run /A/B[2][cost>=20][cost<=30] (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, parent, pathKey)
WHERE n1.live = $memory
  AND n1.parent = ''
  AND n1.type = $p0
  AND n1.pathKey > ''
  AND n1.born <= $revision AND n1.died > $revision
WITH n1
MATCH (n2:Node) USING INDEX SEEK n2:Node(live, type, pathKey)
WHERE n2.live = $memory
  AND n2.parent = n1.id
  AND n2.type = $p1
  AND n2.pathKey STARTS WITH n1.pathKey + '.'
  AND n2.born <= $revision AND n2.died > $revision
WITH n2 ORDER BY n2.pathKey SKIP toInteger($p2) LIMIT toInteger($p3)
WHERE n2[$p4] >= $p5
  AND n2[$p6] <= $p7
RETURN n2.born AS born, n2.id AS id, n2.parent AS parent, n2.pathKey AS pathKey;

// run //T, values (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey, null AS attributes, null AS metadata
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, type, pathKey)
WHERE n1.live = $memory
  AND n1.type = $p0
  AND n1.pathKey > ''
  AND n1.born <= $revision AND n1.died > $revision
RETURN n1.born AS born, n1.id AS id, n1.parent AS parent, n1.pathKey AS pathKey, n1.attributes AS attributes, n1.metadata AS metadata
ORDER BY n1.live, n1.type, n1.pathKey;

// run //T, limit (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, type, pathKey)
WHERE n1.live = $memory
  AND n1.type = $p0
  AND n1.pathKey > ''
  AND n1.born <= $revision AND n1.died > $revision
RETURN n1.born AS born, n1.id AS id, n1.parent AS parent, n1.pathKey AS pathKey
ORDER BY n1.live, n1.type, n1.pathKey LIMIT toInteger($p1);

// run /A//B, limit (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, parent, pathKey)
WHERE n1.live = $memory
  AND n1.parent = ''
  AND n1.type = $p0
  AND n1.pathKey > ''
  AND n1.born <= $revision AND n1.died > $revision
WITH n1
MATCH (n2:Node) USING INDEX SEEK n2:Node(live, type, pathKey)
WHERE n2.live = $memory
  AND n2.type = $p1
  AND n2.pathKey STARTS WITH n1.pathKey + '.'
  AND n2.born <= $revision AND n2.died > $revision
RETURN n2.born AS born, n2.id AS id, n2.parent AS parent, n2.pathKey AS pathKey
ORDER BY n2.pathKey LIMIT toInteger($p2);

// run contexts of one weight, /T (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey
UNION ALL
UNWIND $contexts AS context
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, type, pathKey)
WHERE n1.live = $memory
  AND n1.parent = context.id
  AND n1.type = $p0
  AND n1.pathKey STARTS WITH context.pathKey + '.'
  AND n1.born <= $revision AND n1.died > $revision
RETURN n1.born AS born, n1.id AS id, n1.parent AS parent, n1.pathKey AS pathKey;

// run contexts of one weight, //T (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey
UNION ALL
UNWIND $contexts AS context
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, type, pathKey)
WHERE n1.live = $memory
  AND n1.type = $p0
  AND n1.pathKey STARTS WITH context.pathKey + '.'
  AND n1.born <= $revision AND n1.died > $revision
RETURN n1.born AS born, n1.id AS id, n1.parent AS parent, n1.pathKey AS pathKey;

// run contexts of weights, /* (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey, null AS type, null AS weight
UNION ALL
UNWIND $contexts AS context
WITH context, context.weight AS weight
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, parent, pathKey)
WHERE n1.live = $memory
  AND n1.parent = context.id
  AND n1.pathKey STARTS WITH context.pathKey + '.'
  AND n1.born <= $revision AND n1.died > $revision
RETURN n1.born AS born, n1.id AS id, n1.parent AS parent, n1.pathKey AS pathKey, n1.type AS type, weight;

// run contexts of weights, //T (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey, null AS weight
UNION ALL
UNWIND $contexts AS context
WITH context, context.weight AS weight
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, type, pathKey)
WHERE n1.live = $memory
  AND n1.type = $p0
  AND n1.pathKey STARTS WITH context.pathKey + '.'
  AND n1.born <= $revision AND n1.died > $revision
RETURN n1.born AS born, n1.id AS id, n1.parent AS parent, n1.pathKey AS pathKey, weight;

// run nested contexts of weights, //*//T[2:-2]/B (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey, null AS weight
UNION ALL
UNWIND $contexts AS context
WITH context, context.weight AS weight
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, type, pathKey)
WHERE n1.live = $memory
  AND n1.type = $p0
  AND n1.pathKey STARTS WITH context.pathKey + '.'
  AND n1.depth >= context.depth + $p1
  AND n1.born <= $revision AND n1.died > $revision
WITH n1, max(weight) AS weight
WITH n1, weight ORDER BY n1.pathKey
WITH collect({n1: n1, weight: weight}) AS nodes
UNWIND nodes[toInteger($p2)..CASE WHEN size(nodes) + 1 - toInteger($p3) < 0 THEN 0 ELSE size(nodes) + 1 - toInteger($p3) END] AS row
WITH row.n1 AS n1, row.weight AS weight
MATCH (n2:Node) USING INDEX SEEK n2:Node(live, type, pathKey)
WHERE n2.live = $memory
  AND n2.parent = n1.id
  AND n2.type = $p4
  AND n2.pathKey STARTS WITH n1.pathKey + '.'
  AND n2.born <= $revision AND n2.died > $revision
RETURN n2.born AS born, n2.id AS id, n2.parent AS parent, n2.pathKey AS pathKey, weight;

// evidence //T (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS context, null AS path, null AS born0, null AS id0, null AS parent0, null AS pathKey0
UNION ALL
UNWIND $contexts AS context
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, type, pathKey)
WHERE n1.live = $memory
  AND n1.type = $p1
  AND n1.pathKey STARTS WITH context.pathKey + '.'
  AND n1.born <= $revision AND n1.died > $revision
RETURN context.number AS context, 0 AS path, n1.born AS born0, n1.id AS id0, n1.parent AS parent0, n1.pathKey AS pathKey0 LIMIT toInteger($p0);

// evidence /A[kept]/B (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS context, null AS path, null AS born0, null AS id0, null AS parent0, null AS pathKey0, null AS born1, null AS id1, null AS parent1, null AS pathKey1
UNION ALL
UNWIND $contexts AS context
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, type, pathKey)
WHERE n1.live = $memory
  AND n1.parent = context.id
  AND n1.type = $p1
  AND n1.pathKey STARTS WITH context.pathKey + '.'
  AND n1.born <= $revision AND n1.died > $revision
WITH context.number AS context, n1
MATCH (n2:Node) USING INDEX SEEK n2:Node(live, type, pathKey)
WHERE n2.live = $memory
  AND n2.parent = n1.id
  AND n2.type = $p2
  AND n2.pathKey STARTS WITH n1.pathKey + '.'
  AND n2.born <= $revision AND n2.died > $revision
RETURN context AS context, 0 AS path, n1.born AS born0, n1.id AS id0, n1.parent AS parent0, n1.pathKey AS pathKey0, n2.born AS born1, n2.id AS id1, n2.parent AS parent1, n2.pathKey AS pathKey1 LIMIT toInteger($p0);

// evidence //*//T (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS context, null AS path, null AS born0, null AS id0, null AS parent0, null AS pathKey0
UNION ALL
UNWIND $contexts AS context
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, type, pathKey)
WHERE n1.live = $memory
  AND n1.type = $p1
  AND n1.pathKey STARTS WITH context.pathKey + '.'
  AND n1.depth >= context.depth + $p2
  AND n1.born <= $revision AND n1.died > $revision
RETURN context.number AS context, 0 AS path, n1.born AS born0, n1.id AS id0, n1.parent AS parent0, n1.pathKey AS pathKey0 LIMIT toInteger($p0);

// evidence //A//B//C (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS context, null AS path, null AS born0, null AS id0, null AS parent0, null AS pathKey0
UNION ALL
UNWIND $contexts AS context
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, type, pathKey)
WHERE n1.live = $memory
  AND n1.type = $p1
  AND n1.pathKey STARTS WITH context.pathKey + '.'
  AND n1.born <= $revision AND n1.died > $revision
WITH context.number AS context, n1
MATCH (n2:Node) USING INDEX SEEK n2:Node(live, type, pathKey)
WHERE n2.live = $memory
  AND n2.type = $p2
  AND n2.pathKey STARTS WITH n1.pathKey + '.'
  AND n2.born <= $revision AND n2.died > $revision
WITH DISTINCT context, n2
LIMIT toInteger($p0)
WITH collect({context: context, n2: n2}) AS rows
UNWIND CASE WHEN size(rows) < toInteger($p0) THEN rows ELSE 1 / (size(rows) - size(rows)) END AS row
WITH row.context AS context, row.n2 AS n2
MATCH (n3:Node) USING INDEX SEEK n3:Node(live, type, pathKey)
WHERE n3.live = $memory
  AND n3.type = $p3
  AND n3.pathKey STARTS WITH n2.pathKey + '.'
  AND n3.born <= $revision AND n3.died > $revision
WITH DISTINCT context, n3
LIMIT toInteger($p0)
WITH collect({context: context, n3: n3}) AS rows
UNWIND CASE WHEN size(rows) < toInteger($p0) THEN rows ELSE 1 / (size(rows) - size(rows)) END AS row
WITH row.context AS context, row.n3 AS n3
RETURN context AS context, 0 AS path, n3.born AS born0, n3.id AS id0, n3.parent AS parent0, n3.pathKey AS pathKey0 LIMIT toInteger($p0);

// evidence //T[-1] (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS context, null AS path, null AS born0, null AS id0, null AS parent0, null AS pathKey0
UNION ALL
UNWIND $contexts AS context
CALL (context) {
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, type, pathKey)
WHERE n1.live = $memory
  AND n1.type = $p1
  AND n1.pathKey STARTS WITH context.pathKey + '.'
  AND n1.born <= $revision AND n1.died > $revision
RETURN n1 ORDER BY n1.live DESC, n1.type DESC, n1.pathKey DESC SKIP toInteger($p2) LIMIT toInteger($p3)
}
WITH context.number AS context, n1
RETURN context AS context, 0 AS path, n1.born AS born0, n1.id AS id0, n1.parent AS parent0, n1.pathKey AS pathKey0 LIMIT toInteger($p0);

// evidence /A[kept]//B[2:-2][open="true"] (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS context, null AS path, null AS born0, null AS id0, null AS parent0, null AS pathKey0, null AS born1, null AS id1, null AS parent1, null AS pathKey1
UNION ALL
UNWIND $contexts AS context
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, type, pathKey)
WHERE n1.live = $memory
  AND n1.parent = context.id
  AND n1.type = $p1
  AND n1.pathKey STARTS WITH context.pathKey + '.'
  AND n1.born <= $revision AND n1.died > $revision
WITH context.number AS context, n1
MATCH (n2:Node) USING INDEX SEEK n2:Node(live, type, pathKey)
WHERE n2.live = $memory
  AND n2.type = $p2
  AND n2.pathKey STARTS WITH n1.pathKey + '.'
  AND n2.born <= $revision AND n2.died > $revision
WITH context, n1, n2
LIMIT toInteger($p0)
WITH collect({context: context, n1: n1, n2: n2}) AS rows
UNWIND CASE WHEN size(rows) < toInteger($p0) THEN rows ELSE 1 / (size(rows) - size(rows)) END AS row
WITH row.context AS context, row.n1 AS n1, row.n2 AS n2
WITH context, n1, n2 ORDER BY n2.pathKey
WITH context, collect(DISTINCT n2) AS nodes, collect({context: context, n1: n1, n2: n2}) AS rows
WITH rows, nodes[toInteger($p3)..CASE WHEN size(nodes) + 1 - toInteger($p4) < 0 THEN 0 ELSE size(nodes) + 1 - toInteger($p4) END] AS nodes
UNWIND rows AS row
WITH row.context AS context, row.n1 AS n1, row.n2 AS n2, nodes
WHERE nodes[0].pathKey <= n2.pathKey <= nodes[-1].pathKey
WITH context, n1, n2
WHERE CASE WHEN n2[$p8] IS NULL THEN coalesce(n2[$p5], n2[$p6]) = $p7 ELSE $p9 IN n2[$p8] END
RETURN context AS context, 0 AS path, n1.born AS born0, n1.id AS id0, n1.parent AS parent0, n1.pathKey AS pathKey0, n2.born AS born1, n2.id AS id1, n2.parent AS parent1, n2.pathKey AS pathKey1 LIMIT toInteger($p0);

// evidence /A and /B[kept]/C (head)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS context, null AS path, null AS born0, null AS id0, null AS parent0, null AS pathKey0, null AS born1, null AS id1, null AS parent1, null AS pathKey1
UNION ALL
CALL () {
UNWIND $contexts AS context
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, type, pathKey)
WHERE n1.live = $memory
  AND n1.parent = context.id
  AND n1.type = $p1
  AND n1.pathKey STARTS WITH context.pathKey + '.'
  AND n1.born <= $revision AND n1.died > $revision
RETURN context.number AS context, 0 AS path, n1.born AS born0, n1.id AS id0, n1.parent AS parent0, n1.pathKey AS pathKey0, null AS born1, null AS id1, null AS parent1, null AS pathKey1
UNION ALL
UNWIND $contexts AS context
MATCH (n1:Node) USING INDEX SEEK n1:Node(live, type, pathKey)
WHERE n1.live = $memory
  AND n1.parent = context.id
  AND n1.type = $p2
  AND n1.pathKey STARTS WITH context.pathKey + '.'
  AND n1.born <= $revision AND n1.died > $revision
WITH context.number AS context, n1
MATCH (n2:Node) USING INDEX SEEK n2:Node(live, type, pathKey)
WHERE n2.live = $memory
  AND n2.parent = n1.id
  AND n2.type = $p3
  AND n2.pathKey STARTS WITH n1.pathKey + '.'
  AND n2.born <= $revision AND n2.died > $revision
RETURN context AS context, 1 AS path, n1.born AS born0, n1.id AS id0, n1.parent AS parent0, n1.pathKey AS pathKey0, n2.born AS born1, n2.id AS id1, n2.parent AS parent1, n2.pathKey AS pathKey1
}
RETURN context, path, born0, id0, parent0, pathKey0, born1, id1, parent1, pathKey1 LIMIT toInteger($p0);

// run //T (all states)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(memory, type, pathKey)
WHERE n1.memory = $memory
  AND n1.type = $p0
  AND n1.pathKey > ''
  AND n1.born <= $revision AND n1.died > $revision
RETURN n1.born AS born, n1.id AS id, n1.parent AS parent, n1.pathKey AS pathKey
ORDER BY n1.memory, n1.type, n1.pathKey;

// run //* (all states)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey, null AS type
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(memory, pathKey)
WHERE n1.memory = $memory
  AND n1.pathKey > ''
  AND n1.born <= $revision AND n1.died > $revision
RETURN n1.born AS born, n1.id AS id, n1.parent AS parent, n1.pathKey AS pathKey, n1.type AS type
ORDER BY n1.memory, n1.pathKey;

// run /A (all states)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(memory, type, pathKey)
WHERE n1.memory = $memory
  AND n1.parent = ''
  AND n1.type = $p0
  AND n1.pathKey > ''
  AND n1.born <= $revision AND n1.died > $revision
RETURN n1.born AS born, n1.id AS id, n1.parent AS parent, n1.pathKey AS pathKey
ORDER BY n1.memory, n1.type, n1.pathKey;

// run /A/*/B (all states)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(memory, type, pathKey)
WHERE n1.memory = $memory
  AND n1.parent = ''
  AND n1.type = $p0
  AND n1.pathKey > ''
  AND n1.born <= $revision AND n1.died > $revision
WITH n1
MATCH (n2:Node) USING INDEX SEEK n2:Node(memory, pathKey)
WHERE n2.memory = $memory
  AND n2.parent = n1.id
  AND n2.pathKey STARTS WITH n1.pathKey + '.'
  AND n2.born <= $revision AND n2.died > $revision
WITH n2
MATCH (n3:Node) USING INDEX SEEK n3:Node(memory, type, pathKey)
WHERE n3.memory = $memory
  AND n3.parent = n2.id
  AND n3.type = $p1
  AND n3.pathKey STARTS WITH n2.pathKey + '.'
  AND n3.born <= $revision AND n3.died > $revision
RETURN n3.born AS born, n3.id AS id, n3.parent AS parent, n3.pathKey AS pathKey;

// run //A//B (all states)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey
UNION ALL
MATCH (n1:Node) USING INDEX SEEK n1:Node(memory, type, pathKey)
WHERE n1.memory = $memory
  AND n1.type = $p0
  AND n1.pathKey > ''
  AND n1.born <= $revision AND n1.died > $revision
WITH n1
MATCH (n2:Node) USING INDEX SEEK n2:Node(memory, type, pathKey)
WHERE n2.memory = $memory
  AND n2.type = $p1
  AND n2.pathKey STARTS WITH n1.pathKey + '.'
  AND n2.born <= $revision AND n2.died > $revision
WITH DISTINCT n2
RETURN n2.born AS born, n2.id AS id, n2.parent AS parent, n2.pathKey AS pathKey;

// run contexts of weights, /* (all states)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS born, null AS id, null AS parent, null AS pathKey, null AS type, null AS weight
UNION ALL
UNWIND $contexts AS context
WITH context, context.weight AS weight
MATCH (n1:Node) USING INDEX SEEK n1:Node(memory, pathKey)
WHERE n1.memory = $memory
  AND n1.parent = context.id
  AND n1.pathKey STARTS WITH context.pathKey + '.'
  AND n1.born <= $revision AND n1.died > $revision
RETURN n1.born AS born, n1.id AS id, n1.parent AS parent, n1.pathKey AS pathKey, n1.type AS type, weight;

// evidence //T (all states)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS context, null AS path, null AS born0, null AS id0, null AS parent0, null AS pathKey0
UNION ALL
UNWIND $contexts AS context
MATCH (n1:Node) USING INDEX SEEK n1:Node(memory, type, pathKey)
WHERE n1.memory = $memory
  AND n1.type = $p1
  AND n1.pathKey STARTS WITH context.pathKey + '.'
  AND n1.born <= $revision AND n1.died > $revision
RETURN context.number AS context, 0 AS path, n1.born AS born0, n1.id AS id0, n1.parent AS parent0, n1.pathKey AS pathKey0 LIMIT toInteger($p0);

// evidence /A[kept]/B (all states)
MATCH (m:Memory {key: $memory})
RETURN m.purged AS context, null AS path, null AS born0, null AS id0, null AS parent0, null AS pathKey0, null AS born1, null AS id1, null AS parent1, null AS pathKey1
UNION ALL
UNWIND $contexts AS context
MATCH (n1:Node) USING INDEX SEEK n1:Node(memory, type, pathKey)
WHERE n1.memory = $memory
  AND n1.parent = context.id
  AND n1.type = $p1
  AND n1.pathKey STARTS WITH context.pathKey + '.'
  AND n1.born <= $revision AND n1.died > $revision
WITH context.number AS context, n1
MATCH (n2:Node) USING INDEX SEEK n2:Node(memory, type, pathKey)
WHERE n2.memory = $memory
  AND n2.parent = n1.id
  AND n2.type = $p2
  AND n2.pathKey STARTS WITH n1.pathKey + '.'
  AND n2.born <= $revision AND n2.died > $revision
RETURN context AS context, 0 AS path, n1.born AS born0, n1.id AS id0, n1.parent AS parent0, n1.pathKey AS pathKey0, n2.born AS born1, n2.id AS id1, n2.parent AS parent1, n2.pathKey AS pathKey1 LIMIT toInteger($p0);
