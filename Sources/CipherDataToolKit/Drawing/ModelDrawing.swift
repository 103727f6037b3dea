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
