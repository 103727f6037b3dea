/// Which operations must be before which others.
struct OperationGraph {
  /// A point of an operation in the order.
  enum Point {
    case reads(Int)
    case commit(Int)
  }

  /// Why an operation is before the next one.
  enum Relation: CustomStringConvertible {
    case sees(OperationHistory.Object)
    case misses(OperationHistory.Object)
    case isReplaced(OperationHistory.Object)
    case sameProcess
    case time

    var description: String {
      switch self {
      case .sees(let object): "has written what the next one reads in \(object)"
      case .misses(let object): "does not see what the next one writes to \(object)"
      case .isReplaced(let object): "has written what the next one replaces in \(object)"
      case .sameProcess: "is earlier in its process"
      case .time: "had ended when the next one began"
      }
    }
  }

  private struct Edge {
    var target: Int32
    /// nil for the way from an operation's reads to its commit, and between times.
    var relation: Relation?
  }

  /// Two nodes of an operation that has two points; otherwise the same one. Times follow.
  private let nodes: [(reads: Int32, commit: Int32)]
  private var operations: [Int?] = []
  private var edges: [[Edge]] = []
  /// The node of the time at present.
  private var time: Int32?

  /// - Parameter hasTwoPoints: Whether each operation has two points.
  init(_ hasTwoPoints: [Bool]) {
    var nodes: [(Int32, Int32)] = []
    for (number, isDouble) in hasTwoPoints.enumerated() {
      let first = Int32(operations.count)
      operations.append(number)
      edges.append([])
      if isDouble {
        operations.append(number)
        edges.append([])
        edges[Int(first)].append(Edge(target: first + 1))
      }
      nodes.append((first, first + (isDouble ? 1 : 0)))
    }
    self.nodes = nodes
  }

  private func node(_ point: Point) -> Int32 {
    switch point {
    case .reads(let operation): nodes[operation].reads
    case .commit(let operation): nodes[operation].commit
    }
  }

  mutating func add(_ earlier: Point, _ later: Point, _ relation: Relation) {
    edges[Int(node(earlier))].append(Edge(target: node(later), relation: relation))
  }

  /// The operations whose beginnings are added later begin after the end of this one.
  mutating func addEnd(of operation: Int) {
    let next = Int32(operations.count)
    operations.append(nil)
    edges.append([])
    if let time { edges[Int(time)].append(Edge(target: next)) }
    edges[Int(nodes[operation].commit)].append(Edge(target: next, relation: .time))
    time = next
  }

  mutating func addBegin(of operation: Int) {
    if let time { edges[Int(time)].append(Edge(target: nodes[operation].reads)) }
  }

  // MARK: Cycles

  /// Returns a shortest cycle through some operation, or nil.
  func cycle() -> [(operation: Int, relation: Relation)]? {
    guard let component = cyclicComponent() else { return nil }
    let members = Set(component)
    // A short one is easier to understand.
    let starts = component.filter { operations[Int($0)] != nil }.prefix(64)
    return starts.compactMap { shortestCycle(from: $0, in: members) }.min { $0.count < $1.count }
  }

  /// Returns the nodes of a strongly connected component with more than one node, by Tarjan's algorithm without recursion.
  private func cyclicComponent() -> [Int32]? {
    var (index, low) = ([Int32](repeating: -1, count: edges.count), [Int32](repeating: 0, count: edges.count))
    var (isOnStack, stack, count): ([Bool], [Int32], Int32) = ([Bool](repeating: false, count: edges.count), [], 0)
    var calls: [(node: Int, next: Int)] = []
    for root in edges.indices where index[root] < 0 {
      calls.append((root, 0))
      while let (node, next) = calls.last {
        if next == 0 {
          (index[node], low[node], isOnStack[node]) = (count, count, true)
          stack.append(Int32(node))
          count += 1
        }
        if next < edges[node].count {
          calls[calls.count - 1].next += 1
          let target = Int(edges[node][next].target)
          if index[target] < 0 {
            calls.append((target, 0))
          } else if isOnStack[target] {
            low[node] = min(low[node], index[target])
          }
          continue
        }
        calls.removeLast()
        if let parent = calls.last?.node { low[parent] = min(low[parent], low[node]) }
        guard low[node] == index[node] else { continue }
        var component: [Int32] = []
        while let member = stack.popLast() {
          isOnStack[Int(member)] = false
          component.append(member)
          if member == node { break }
        }
        if component.count > 1 { return component }
      }
    }
    return nil
  }

  /// Returns the cycle with the fewest relations through a node.
  private func shortestCycle(from start: Int32, in members: Set<Int32>) -> [(operation: Int, relation: Relation)]? {
    typealias Origin = (node: Int32, relation: Relation?)
    var (origins, level): ([Int32: Origin], [(target: Int32, origin: Origin?)]) = ([:], [(start, nil)])
    while !level.isEmpty {
      var next: [(target: Int32, origin: Origin?)] = []
      while let (node, origin) = level.popLast() {
        if let origin {
          if origins[node] != nil { continue }
          origins[node] = origin
          if node == start { return path(to: start, origins) }
        }
        for edge in edges[Int(node)] where members.contains(edge.target) && origins[edge.target] == nil {
          // What has no relation is no step.
          if edge.relation == nil {
            level.append((edge.target, (node, nil)))
          } else {
            next.append((edge.target, (node, edge.relation)))
          }
        }
      }
      level = next
    }
    return nil
  }

  private func path(to start: Int32, _ origins: [Int32: (node: Int32, relation: Relation?)]) -> [(operation: Int, relation: Relation)] {
    var path: [(operation: Int, relation: Relation)] = []
    var node = start
    repeat {
      guard let origin = origins[node] else { return path }
      if let operation = operations[Int(origin.node)], let relation = origin.relation { path.append((operation, relation)) }
      node = origin.node
    } while node != start
    return path.reversed()
  }
}
