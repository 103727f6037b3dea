import ObjectModel
import SQLCipherConnection

/// Maps the properties of an inheritance tree to the columns of its table.
///
/// The column of a property is `Z` followed by its name in upper case. If subentities have properties of the same name, the second in the
/// order of entity numbers has the suffix 1, and so on.
struct AppleColumns {
  private let table: SourceSchema.Table
  private let root: CompiledEntity
  private let model: CompiledModel
  private let numbers: [Int: Int64]
  private var free: [String: SourceSchema.Column]

  init(table: SourceSchema.Table, root: CompiledEntity, model: CompiledModel, numbers: [Int: Int64]) {
    self.table = table
    self.root = root
    self.model = model
    self.numbers = numbers
    free = Dictionary(table.columns.map { ($0.name.uppercased(), $0) }, uniquingKeysWith: { first, _ in first })
    for name in ["Z_PK", "Z_ENT", "Z_OPT"] { free[name] = nil }
  }

  /// The remaining columns, except those that repeat the entity of a destination.
  var rest: [String] {
    table.columns.map(\.name).filter { free[$0.uppercased()] != nil && !Self.isEntityColumn($0) }
  }

  /// Takes a column by its name, with or without a numeric suffix.
  mutating func take(_ name: String) -> String? {
    for suffix in [""] + (1...8).map(String.init) {
      if let column = free.removeValue(forKey: name + suffix) { return column.name }
    }
    return nil
  }

  mutating func assign(_ connection: Connection, _ findings: inout LayoutFindings) throws -> [SourceColumn] {
    let slots = root.subtree.sorted { numbers[$0, default: .max] < numbers[$1, default: .max] }.flatMap { number in
      model.entities[number].slots.filter { $0.declaringEntity == number && !$0.isTransient && $0.kind != .none }
    }
    var counts: [String: Int] = [:]
    for slot in slots { counts[Self.bases(slot)[0], default: 0] += 1 }
    var columns: [SourceColumn] = []
    var shared: [(SourceSchema.Column, CompiledSlot)] = []
    // Unique names first: none of them is another name with a numeric suffix.
    for slot in slots where counts[Self.bases(slot)[0]] == 1 {
      guard let name = Self.bases(slot).first(where: { free["Z" + $0] != nil }), let column = free.removeValue(forKey: "Z" + name) else {
        note(slot, &findings)
        continue
      }
      columns.append(SourceColumn(name: try Identifier.quoted(column.name), slot: slot))
    }
    for slot in slots {
      let count = counts[Self.bases(slot)[0], default: 0]
      guard count > 1 else { continue }
      guard let column = takeShared(slot, count: count) else {
        note(slot, &findings)
        continue
      }
      columns.append(SourceColumn(name: try Identifier.quoted(column.name), slot: slot))
      shared.append((column, slot))
    }
    try checkShared(shared, connection)
    return columns
  }

  private mutating func takeShared(_ slot: CompiledSlot, count: Int) -> SourceSchema.Column? {
    for base in Self.bases(slot) {
      for suffix in [""] + (1...(count + 8)).map(String.init) {
        guard let column = free["Z" + base + suffix], Self.fits(column.type, slot) else { continue }
        free["Z" + base + suffix] = nil
        return column
      }
    }
    return nil
  }

  /// Checks that columns that were assigned by suffix are empty in the rows of other entities.
  private func checkShared(_ shared: [(SourceSchema.Column, CompiledSlot)], _ connection: Connection) throws {
    for (column, slot) in shared {
      let own = model.entities[slot.declaringEntity].subtree.compactMap { numbers[$0] }.map(String.init).joined(separator: ", ")
      guard try SourceLayout.hasValues(column.name, in: table.name, where: "t.Z_ENT NOT IN (\(own))", connection) else { continue }
      throw CoreDataImportError(
        .ambiguousColumn(column.name, table: table.name),
        path: connection.path, entityName: model.entities[slot.declaringEntity].name, propertyName: slot.name)
    }
  }

  private func note(_ slot: CompiledSlot, _ findings: inout LayoutFindings) {
    let names = Self.bases(slot).map { "Z" + $0 }.joined(separator: " or ")
    findings.addMissing(
      "the column \(names) of \(table.name) is missing, for “\(model.entities[slot.declaringEntity].name).\(slot.name)”")
  }

  /// Returns the possible column names of a property, without the Z. Those for parts of composite attributes are not documented.
  private static func bases(_ slot: CompiledSlot) -> [String] {
    let parts = slot.name.uppercased().split(separator: ".").map(String.init)
    guard parts.count > 1, let last = parts.last else { return [slot.name.uppercased()] }
    return [parts.joined(separator: "_"), parts.joined(), last]
  }

  /// Returns whether a column's declared type can hold a property's values.
  private static func fits(_ declared: String, _ slot: CompiledSlot) -> Bool {
    guard let type = slot.attributeType else { return declared == "INTEGER" || declared.isEmpty }
    return declared.isEmpty || type.traits.coreData.columns.contains(declared)
  }

  /// Returns whether a column, such as `Z22_OWNER`, repeats the entity of a destination with subentities, here that of `ZOWNER`.
  private static func isEntityColumn(_ name: String) -> Bool {
    let name = name.uppercased()
    guard name.hasPrefix("Z") else { return false }
    let digits = name.dropFirst().prefix { $0.isASCII && $0.isNumber }
    return !digits.isEmpty && name.dropFirst(1 + digits.count).hasPrefix("_")
  }
}
