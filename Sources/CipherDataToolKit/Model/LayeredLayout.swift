import Foundation

extension ModelDrawing {
  /// Lays out the boxes in layers, for machines without Graphviz. Entities that many others refer to are near the top. Each line leads from
  /// a lower layer to a higher one, through a free position in each layer between.
  package mutating func layOutInLayers() {
    var layout = LayeredLayout(self)
    layout.run()
    for index in boxes.indices { boxes[index].place = layout.nodes[index].place }
    for index in lines.indices { lines[index].curve = layout.curve(of: index, in: self) }
    fit()
  }
}

private struct LayeredLayout {
  /// A box, or the position where a line crosses a layer.
  struct Node {
    var width: Double
    var height: Double
    var layer = 0
    var place = DrawingPoint(x: 0, y: 0)
  }

  private static let gap = 36.0
  private static let layerGap = 92.0

  private let lines: [ModelDrawing.Line]
  private let boxCount: Int
  private(set) var nodes: [Node]
  /// The nodes of each line from top to bottom, and whether this reverses the line's own direction.
  private var chains: [(nodes: [Int], isReversed: Bool)] = []
  private var layers: [[Int]] = []
  private var neighbors: [[Int]] = []

  init(_ drawing: ModelDrawing) {
    lines = drawing.lines
    boxCount = drawing.boxes.count
    nodes = drawing.boxes.map { Node(width: $0.width, height: $0.height) }
  }

  mutating func run() {
    assignLayers()
    makeChains()
    order()
    place()
  }

  /// Returns the upper and the lower end of a line. Parent entities and entities that many objects refer to are above.
  private func ends(_ line: ModelDrawing.Line) -> (upper: Int, lower: Int) {
    line.isInheritance || line.toCount != "*" || line.fromCount == "*" ? (line.to, line.from) : (line.from, line.to)
  }

  private mutating func assignLayers() {
    var below: [[Int]] = Array(repeating: [], count: boxCount)
    for line in lines where line.from != line.to {
      let (upper, lower) = ends(line)
      below[upper].append(lower)
    }
    // 0: not visited, 1: in progress, 2: finished. Lines back to a node in progress are reversed.
    var state = Array(repeating: 0, count: boxCount)
    var done: [Int] = []
    var kept: [[Int]] = Array(repeating: [], count: boxCount)
    for root in 0..<boxCount where state[root] == 0 {
      var stack: [(node: Int, next: Int)] = [(root, 0)]
      state[root] = 1
      while let (node, next) = stack.last {
        guard next < below[node].count else {
          state[node] = 2
          done.append(node)
          stack.removeLast()
          continue
        }
        stack[stack.count - 1].next += 1
        let other = below[node][next]
        if state[other] == 1 {
          kept[other].append(node)
        } else {
          kept[node].append(other)
          if state[other] == 0 {
            state[other] = 1
            stack.append((other, 0))
          }
        }
      }
    }
    for node in done.reversed() {
      for other in kept[node] where other != node { nodes[other].layer = max(nodes[other].layer, nodes[node].layer + 1) }
    }
  }

  private mutating func makeChains() {
    for line in lines {
      let (upper, lower) = nodes[line.from].layer < nodes[line.to].layer ? (line.from, line.to) : (line.to, line.from)
      var chain = [upper]
      if nodes[upper].layer < nodes[lower].layer {
        for layer in (nodes[upper].layer + 1)..<max(nodes[lower].layer, nodes[upper].layer + 1) {
          chain.append(nodes.count)
          nodes.append(Node(width: 26, height: 0, layer: layer))
        }
      }
      chain.append(lower)
      chains.append((chain, upper != line.from))
    }
    layers = Array(repeating: [], count: (nodes.map(\.layer).max() ?? 0) + 1)
    for index in nodes.indices { layers[nodes[index].layer].append(index) }
    neighbors = Array(repeating: [], count: nodes.count)
    for (chain, _) in chains {
      for (upper, lower) in zip(chain, chain.dropFirst()) where upper != lower {
        neighbors[upper].append(lower)
        neighbors[lower].append(upper)
      }
    }
  }

  /// Orders the nodes of each layer by the positions of their neighbors, in several passes up and down.
  private mutating func order() {
    var position = Array(repeating: 0.0, count: nodes.count)
    for layer in layers { for (index, node) in layer.enumerated() { position[node] = Double(index) } }
    for sweep in 0..<12 {
      let numbers = sweep % 2 == 0 ? Array(layers.indices) : layers.indices.reversed()
      for number in numbers {
        let keys = layers[number].map { node -> (Double, Int) in
          let others = neighbors[node].filter { sweep % 2 == 0 ? nodes[$0].layer < number : nodes[$0].layer > number }
          let mean = others.isEmpty ? position[node] : others.map { position[$0] }.reduce(0, +) / Double(others.count)
          return (mean, node)
        }
        layers[number] = keys.sorted { $0 < $1 }.map(\.1)
        for (index, node) in layers[number].enumerated() { position[node] = Double(index) }
      }
    }
  }

  /// Moves each node towards the mean position of its neighbors, as far as the layer allows.
  private mutating func place() {
    var top = 0.0
    for layer in layers {
      var x = 0.0
      let height = layer.map { nodes[$0].height }.max() ?? 0
      for node in layer {
        nodes[node].place = DrawingPoint(x: x + nodes[node].width / 2, y: top + height / 2)
        x += nodes[node].width + Self.gap
      }
      top += height + Self.layerGap
    }
    for sweep in 0..<16 {
      for layer in sweep % 2 == 0 ? layers : layers.reversed() {
        let wanted = layer.map { node -> Double in
          let others = neighbors[node]
          return others.isEmpty ? nodes[node].place.x : others.map { nodes[$0].place.x }.reduce(0, +) / Double(others.count)
        }
        // Both keep the distances, and so does their mean.
        var (forward, backward) = (wanted, wanted)
        func distance(_ index: Int) -> Double { (nodes[layer[index]].width + nodes[layer[index + 1]].width) / 2 + Self.gap }
        for index in layer.indices.dropFirst() { forward[index] = max(wanted[index], forward[index - 1] + distance(index - 1)) }
        for index in layer.indices.dropLast().reversed() { backward[index] = min(wanted[index], backward[index + 1] - distance(index)) }
        for (index, node) in layer.enumerated() { nodes[node].place.x = (forward[index] + backward[index]) / 2 }
      }
    }
  }

  /// Returns the curve of a line in its own direction.
  func curve(of number: Int, in drawing: ModelDrawing) -> [DrawingPoint] {
    let line = lines[number]
    if line.from == line.to { return loop(line.from, number) }
    let (chain, isReversed) = chains[number]
    var points: [DrawingPoint] = []
    for (index, node) in chain.enumerated() {
      let (place, height) = (nodes[node].place, nodes[node].height)
      let x = node < boxCount ? place.x + port(of: number, at: node, isBelow: index == 0) : place.x
      points.append(DrawingPoint(x: x, y: index == 0 ? place.y + height / 2 : index == chain.count - 1 ? place.y - height / 2 : place.y))
    }
    var curve = [points[0]]
    for (a, b) in zip(points, points.dropFirst()) {
      let middle = (a.y + b.y) / 2
      curve += [DrawingPoint(x: a.x, y: middle), DrawingPoint(x: b.x, y: middle), b]
    }
    return isReversed ? curve.reversed() : curve
  }

  /// Returns the horizontal offset of a line's start from the middle of its box. Lines on one side are spread in the order of their other
  /// ends.
  private func port(of number: Int, at node: Int, isBelow: Bool) -> Double {
    let sharing = chains.indices.filter { index in
      let chain = chains[index].nodes
      return lines[index].from != lines[index].to && (isBelow ? chain.first : chain.last) == node
    }
    func far(_ index: Int) -> Double {
      let chain = chains[index].nodes
      return nodes[isBelow ? chain[1] : chain[chain.count - 2]].place.x
    }
    let order = sharing.sorted { (far($0), $0) < (far($1), $1) }
    guard let position = order.firstIndex(of: number), order.count > 1 else { return 0 }
    let step = min(34, nodes[node].width / Double(order.count + 1))
    return (Double(position) - Double(order.count - 1) / 2) * step
  }

  /// Returns the curve of a line from a box to itself, on its right side.
  private func loop(_ node: Int, _ number: Int) -> [DrawingPoint] {
    let before = lines[..<number].filter { $0.from == node && $0.to == node }.count
    let (right, y) = (nodes[node].place.x + nodes[node].width / 2, nodes[node].place.y - nodes[node].height / 2 + 16 + Double(before) * 26)
    return [
      DrawingPoint(x: right, y: y), DrawingPoint(x: right + 34, y: y - 4), DrawingPoint(x: right + 34, y: y + 24),
      DrawingPoint(x: right, y: y + 20),
    ]
  }
}

extension ModelDrawing {
  /// Lays out the boxes with Graphviz.
  ///
  /// - Parameter path: The search path for programs.
  /// - Returns: Whether Graphviz is installed and succeeded.
  package mutating func layOutWithGraphviz(path: String = ProcessInfo.processInfo.environment["PATH"] ?? "") -> Bool {
    let programs = path.split(separator: ":").map { "\($0)/dot" }
    guard let program = programs.first(where: { FileManager.default.isExecutableFile(atPath: $0) }),
      let answer = Self.run(program, graph)
    else { return false }
    return take(answer)
  }

  /// The graph in DOT, with boxes of fixed size and without names.
  private var graph: String {
    var text = "digraph g { rankdir=BT; nodesep=0.45; ranksep=1.1; node [shape=box, fixedsize=true, label=\"\"]; edge [dir=none];\n"
    for (index, box) in boxes.enumerated() { text += "n\(index) [width=\(box.width / 72), height=\(box.height / 72)];\n" }
    for line in lines {
      let isUp = line.isInheritance || line.toCount != "*" || line.fromCount == "*"
      text += isUp ? "n\(line.from) -> n\(line.to);\n" : "n\(line.to) -> n\(line.from);\n"
    }
    return text + "}\n"
  }

  private static func run(_ program: String, _ input: String) -> String? {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = ["-Tplain"]
    let (standardInput, output) = (Pipe(), Pipe())
    process.standardInput = standardInput
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return nil }
    // Graphviz reads all of its input before it writes.
    try? standardInput.fileHandleForWriting.write(contentsOf: Data(input.utf8))
    try? standardInput.fileHandleForWriting.close()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return process.terminationStatus == 0 ? String(decoding: data, as: UTF8.self) : nil
  }

  /// Takes the positions from Graphviz's output, in inches with y upwards. Returns `false` if any is missing.
  package mutating func take(_ answer: String) -> Bool {
    var edges: [String: [[DrawingPoint]]] = [:]
    var found = 0
    for line in answer.split(separator: "\n") {
      let words = line.split(separator: " ").map { String($0) }
      func point(_ index: Int) -> DrawingPoint? {
        guard index + 1 < words.count, let x = Double(words[index]), let y = Double(words[index + 1]) else { return nil }
        return DrawingPoint(x: x * 72, y: -y * 72)
      }
      if words.first == "node", words.count > 3, let number = Int(words[1].dropFirst()), boxes.indices.contains(number),
        let place = point(2)
      {
        boxes[number].place = place
        found += 1
      } else if words.first == "edge", words.count > 3, let count = Int(words[3]), count >= 4 {
        let points = (0..<count).compactMap { point(4 + 2 * $0) }
        if points.count == count { edges["\(words[1]) \(words[2])", default: []].append(points) }
      }
    }
    guard found == boxes.count else { return false }
    for index in lines.indices {
      let line = lines[index]
      let isUp = line.isInheritance || line.toCount != "*" || line.fromCount == "*"
      let name = isUp ? "n\(line.from) n\(line.to)" : "n\(line.to) n\(line.from)"
      guard var several = edges[name], !several.isEmpty else { return false }
      let curve = several.removeFirst()
      edges[name] = several
      lines[index].curve = isUp ? curve : curve.reversed()
    }
    fit()
    return true
  }
}
