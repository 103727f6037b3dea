import Foundation

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
