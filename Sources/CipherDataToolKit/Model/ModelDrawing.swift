import Foundation
package import ObjectModel

/// A point of a diagram, with y downwards.
package struct DrawingPoint: Sendable, Hashable {
  package var x: Double
  package var y: Double
}

/// A diagram of a model: boxes for entities, lines for relationships and inheritance. A layout sets their positions.
package struct ModelDrawing: Sendable {
  /// An entity.
  package struct Box: Sendable {
    package var name: String
    /// A text below the name, such as the number of objects.
    var note: String
    var isAbstract: Bool
    var rows: [(name: String, type: String)]
    package var width: Double
    package var height: Double
    /// The center.
    package var place = DrawingPoint(x: 0, y: 0)
  }

  /// A relationship with its inverse, or inheritance.
  package struct Line: Sendable {
    package var from: Int
    package var to: Int
    var label: String
    /// The cardinality at each end: `1`, `0..1`, or `*`; empty for an end without a relationship.
    var fromCount: String
    var toCount: String
    var isInheritance: Bool
    /// The first point, then three for each segment of the curve.
    package var curve: [DrawingPoint] = []

    /// The width of the label of a line from a box to itself, at the right side of the box.
    var loopLabelWidth: Double { from == to ? Double(DisplayWidth.of(label)) * 5.8 + 8 : 0 }
  }

  package var boxes: [Box] = []
  package var lines: [Line] = []
  package var width = 0.0
  package var height = 0.0

  static let titleHeight = 30.0
  static let rowHeight = 18.0
  /// The maximum number of rows; further rows are only counted.
  private static let rowLimit = 14

  /// Creates a diagram without a layout.
  ///
  /// - Parameter notes: Texts shown below entity names.
  package init(_ model: ManagedObjectModel, notes: [String: String] = [:]) {
    var numbers: [String: Int] = [:]
    for entity in model.entities {
      numbers[entity.name] = boxes.count
      boxes.append(Self.box(entity, note: notes[entity.name] ?? (entity.isAbstract ? "abstract" : "")))
    }
    var known: Set<String> = []
    for (number, entity) in model.entities.enumerated() {
      if let parent = entity.superentityName.flatMap({ numbers[$0] }) {
        lines.append(Line(from: number, to: parent, label: "", fromCount: "", toCount: "", isInheritance: true))
      }
      for relationship in entity.relationships {
        guard let destination = numbers[relationship.destinationEntityName], !known.contains("\(entity.name).\(relationship.name)") else {
          continue
        }
        let inverse = relationship.inverseName.flatMap { name in
          model.entities[destination].relationships.first { $0.name == name }
        }
        if let inverse { known.insert("\(model.entities[destination].name).\(inverse.name)") }
        let label = inverse.map { $0.name == relationship.name ? $0.name : "\(relationship.name) / \($0.name)" } ?? relationship.name
        lines.append(
          Line(
            from: number, to: destination, label: label, fromCount: inverse.map(Self.count) ?? "", toCount: Self.count(relationship),
            isInheritance: false))
      }
    }
  }

  private static func count(_ relationship: RelationshipDescription) -> String {
    relationship.isToMany ? "*" : relationship.isOptional ? "0..1" : "1"
  }

  private static func box(_ entity: EntityDescription, note: String) -> Box {
    var rows = entity.attributes.map { (name: $0.name, type: ModelDiagram.typeName(of: $0)) }
    if rows.count > rowLimit {
      let rest = rows.count - rowLimit + 1
      rows = rows.prefix(rowLimit - 1) + [(name: "… and \(rest) more", type: "")]
    }
    func width(_ text: String, _ each: Double) -> Double { Double(DisplayWidth.of(text)) * each }
    var maximum = max(96, width(entity.name, 8.2) + 32)
    maximum = max(maximum, width(note, 6.4) + 24)
    for row in rows { maximum = max(maximum, width(row.name, 6.7) + width(row.type, 6.2) + 42) }
    let headHeight = titleHeight + (note.isEmpty ? 0 : 16)
    let rowsHeight = rows.isEmpty ? 4 : Double(rows.count) * rowHeight + 14
    return Box(
      name: entity.name, note: note, isAbstract: entity.isAbstract, rows: rows, width: maximum, height: headHeight + rowsHeight)
  }

  /// Moves everything to begin at the margin, and computes the size.
  mutating func fit(margin: Double = 20) {
    let points = lines.flatMap(\.curve)
    let xs =
      boxes.flatMap { [$0.place.x - $0.width / 2, $0.place.x + $0.width / 2] } + points.map(\.x)
      + lines.map { ($0.curve.map(\.x).max() ?? 0) + $0.loopLabelWidth }
    let ys = boxes.flatMap { [$0.place.y - $0.height / 2, $0.place.y + $0.height / 2] } + points.map(\.y)
    guard let left = xs.min(), let right = xs.max(), let top = ys.min(), let bottom = ys.max() else { return }
    func moved(_ point: DrawingPoint) -> DrawingPoint { DrawingPoint(x: point.x - left + margin, y: point.y - top + margin) }
    for index in boxes.indices { boxes[index].place = moved(boxes[index].place) }
    for index in lines.indices { lines[index].curve = lines[index].curve.map(moved) }
    (width, height) = (right - left + 2 * margin, bottom - top + 2 * margin)
  }
}

extension ModelDrawing {
  /// Returns a diagram of a model as SVG, laid out by Graphviz if it is installed.
  ///
  /// - Parameters:
  ///   - notes: Texts shown below entity names.
  ///   - usesGraphviz: Pass `false` to always use the built-in layout.
  package static func svg(_ model: ManagedObjectModel, notes: [String: String] = [:], usesGraphviz: Bool = true) -> String {
    var drawing = ModelDrawing(model, notes: notes)
    if !usesGraphviz || !drawing.layOutWithGraphviz() { drawing.layOutInLayers() }
    return drawing.svg()
  }

  /// Returns the laid-out diagram as self-contained SVG, which adapts to light and dark appearance.
  package func svg() -> String {
    let size = "\(Self.number(width)) \(Self.number(height))"
    var text = """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(size)" width="\(Self.number(width))" height="\(Self.number(height))" class="cd-model" role="img" aria-label="Diagram of the model">
      \(Self.style)

      """
    for line in lines { text += svg(line) }
    for box in boxes { text += svg(box) }
    for (index, line) in lines.enumerated() where !line.label.isEmpty { text += label(line, index) }
    return text + "</svg>\n"
  }

  private static let style = """
    <style>
    .cd-model { --ink: #1d1d1f; --soft: #6e6e73; --line: #8e8e93; --paper: #ffffff; --head: #e8f0fe; --edge: #5b7fb9; font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
    @media (prefers-color-scheme: dark) { .cd-model { --ink: #f5f5f7; --soft: #a1a1a6; --line: #8e8e93; --paper: #1c1c1e; --head: #25324a; --edge: #7da2dd; } }
    .cd-model .box { fill: var(--paper); stroke: var(--edge); stroke-width: 1.3; }
    .cd-model .head { fill: var(--head); }
    .cd-model .abstract { stroke-dasharray: 5 3; }
    .cd-model .name { font-size: 13.5px; font-weight: 600; fill: var(--ink); text-anchor: middle; }
    .cd-model .note { font-size: 11px; fill: var(--soft); text-anchor: middle; }
    .cd-model .attribute { font-size: 12px; fill: var(--ink); }
    .cd-model .type { font-size: 11px; fill: var(--soft); text-anchor: end; }
    .cd-model .line { fill: none; stroke: var(--line); stroke-width: 1.3; }
    .cd-model .end { fill: none; stroke: var(--line); stroke-width: 1.3; }
    .cd-model .parent { fill: var(--paper); stroke: var(--line); stroke-width: 1.3; }
    .cd-model .label { font-size: 10.5px; fill: var(--soft); text-anchor: middle; paint-order: stroke; stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round; }
    </style>
    """

  private func svg(_ box: Box) -> String {
    let (x, y) = (box.place.x - box.width / 2, box.place.y - box.height / 2)
    let headHeight = Self.titleHeight + (box.note.isEmpty ? 0 : 16)
    func n(_ value: Double) -> String { Self.number(value) }
    let isBare = box.rows.isEmpty
    var text = "<g><title>\(Self.escaped(box.name))</title>"
    text +=
      "<rect class=\"box\(box.isAbstract ? " abstract" : "")\(isBare ? " head" : "")\" x=\"\(n(x))\" y=\"\(n(y))\" width=\"\(n(box.width))\" height=\"\(n(box.height))\" rx=\"8\"/>"
    let (left, right, bottom) = (x + 0.7, x + box.width - 0.7, y + headHeight)
    if !isBare {
      text +=
        "<path class=\"head\" d=\"M\(n(left)) \(n(bottom))V\(n(y + 8))a7.3 7.3 0 0 1 7.3 -7.3H\(n(right - 7.3))a7.3 7.3 0 0 1 7.3 7.3V\(n(bottom))Z\"/>"
    }
    text += "<text class=\"name\" x=\"\(n(box.place.x))\" y=\"\(n(y + 20))\">\(Self.escaped(box.name))</text>"
    if !box.note.isEmpty { text += "<text class=\"note\" x=\"\(n(box.place.x))\" y=\"\(n(y + 36))\">\(Self.escaped(box.note))</text>" }
    for (index, row) in box.rows.enumerated() {
      let baseline = n(y + headHeight + 19 + Double(index) * Self.rowHeight)
      text += "<text class=\"attribute\" x=\"\(n(x + 12))\" y=\"\(baseline)\">\(Self.escaped(row.name))</text>"
      text += "<text class=\"type\" x=\"\(n(x + box.width - 12))\" y=\"\(baseline)\">\(Self.escaped(row.type))</text>"
    }
    return text + "</g>\n"
  }

  private func svg(_ line: Line) -> String {
    guard let first = line.curve.first, let last = line.curve.last, line.curve.count >= 4 else { return "" }
    func p(_ point: DrawingPoint) -> String { "\(Self.number(point.x)) \(Self.number(point.y))" }
    var path = "M" + p(first)
    for index in stride(from: 1, to: line.curve.count - 2, by: 3) {
      path += "C" + line.curve[index...index + 2].map(p).joined(separator: " ")
    }
    var text = "<path class=\"line\" d=\"\(path)\"/>"
    if line.isInheritance {
      text += "<path class=\"parent\" d=\"\(Self.shape([(0, 0), (12, -6), (12, 6)], at: last, from: line.curve[line.curve.count - 2]))Z\"/>"
    } else {
      text +=
        Self.end(line.toCount, at: last, from: line.curve[line.curve.count - 2]) + Self.end(line.fromCount, at: first, from: line.curve[1])
    }
    return text + "\n"
  }

  /// Returns the symbol at the end of a line: a crow's foot for many, a bar for one, a circle for zero or one.
  private static func end(_ count: String, at point: DrawingPoint, from: DrawingPoint) -> String {
    switch count {
    case "*":
      "<path class=\"end\" d=\"\(shape([(0, -6), (12, 0), (0, 6)], at: point, from: from))\"/>"
    case "1": "<path class=\"end\" d=\"\(shape([(7, -5.5), (7, 5.5)], at: point, from: from))\"/>"
    case "0..1":
      {
        let middle = place((9, 0), at: point, from: from)
        return "<circle class=\"parent\" cx=\"\(number(middle.x))\" cy=\"\(number(middle.y))\" r=\"3.6\"/>"
      }()
    default: ""
    }
  }

  private static func shape(_ offsets: [(Double, Double)], at point: DrawingPoint, from: DrawingPoint) -> String {
    "M" + offsets.map { place($0, at: point, from: from) }.map { "\(number($0.x)) \(number($0.y))" }.joined(separator: "L")
  }

  /// Returns the point at an offset from a line's end, along the line and perpendicular to it.
  private static func place(_ offset: (Double, Double), at point: DrawingPoint, from: DrawingPoint) -> DrawingPoint {
    let (dx, dy) = (from.x - point.x, from.y - point.y)
    let length = max((dx * dx + dy * dy).squareRoot(), 0.001)
    let (ux, uy) = (dx / length, dy / length)
    return DrawingPoint(x: point.x + ux * offset.0 - uy * offset.1, y: point.y + uy * offset.0 + ux * offset.1)
  }

  private func label(_ line: Line, _ number: Int) -> String {
    guard line.curve.count >= 4 else { return "" }
    let middle: DrawingPoint
    if line.from == line.to {
      middle = DrawingPoint(x: (line.curve.map(\.x).max() ?? 0) + line.loopLabelWidth / 2, y: line.curve[1].y + 14)
    } else {
      // The segment in the middle.
      let start = (line.curve.count - 1) / 3 / 2 * 3
      let (a, b, c, d) = (line.curve[start], line.curve[start + 1], line.curve[start + 2], line.curve[start + 3])
      // Labels of adjacent lines use three heights, so that they do not overlap.
      let t = [0.5, 0.34, 0.66][number % 3]
      let (p, q, r, s) = ((1 - t) * (1 - t) * (1 - t), 3 * (1 - t) * (1 - t) * t, 3 * (1 - t) * t * t, t * t * t)
      let x = p * a.x + q * b.x + r * c.x + s * d.x
      let y = p * a.y + q * b.y + r * c.y + s * d.y
      middle = DrawingPoint(x: x, y: y + 3.5)
    }
    return "<text class=\"label\" x=\"\(Self.number(middle.x))\" y=\"\(Self.number(middle.y))\">\(Self.escaped(line.label))</text>\n"
  }

  private static func number(_ value: Double) -> String { String(format: "%.1f", value) }

  /// Returns text escaped for a page. Names of a model can contain any character.
  package static func escaped(_ text: String) -> String {
    TableWriter.printable(text).replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;").replacing(
      "\"", with: "&quot;")
  }
}
