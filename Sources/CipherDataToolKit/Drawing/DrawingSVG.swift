import Foundation
package import ObjectModel

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
