import ObjectModel
import SQLCipherConnection

/// Determines the layout of the encrypted Core Data store: tables `ecd…`, keys `__objectid`, and entities by the hash of their names. All
/// names are case-insensitive in SQLite.
struct EncryptedLayout {
  let schema: SourceSchema
  let connection: Connection
  let model: CompiledModel
  let entityNumbers: [Int]

  mutating func build(_ findings: inout LayoutFindings) throws -> SourceLayout {
    var tables: [SourceTable] = []
    for number in Set(entityNumbers.map { model.entities[$0].root }).sorted() {
      if let table = try table(of: model.entities[number], &findings) { tables.append(table) }
    }
    var joins: [SourceJoin] = []
    for relationship in SourceLayout.joined(in: model, entityNumbers: entityNumbers) {
      if let join = try join(of: relationship, &findings) { joins.append(join) }
    }
    let known = Set(model.entities.filter { $0.parent == nil }.map { "ECD" + $0.name.uppercased() })
    for table in schema.tables.values.sorted(by: { $0.name < $1.name })
    where table.column("__objectid") != nil && !known.contains(table.name.uppercased()) {
      if try SourceLayout.hasValues("__objectid", in: table.name, connection) {
        findings.addUnknown("the table \(table.name) has rows and is not in the model")
      }
    }
    return SourceLayout(coding: .encryptedCoreData, model: model, tables: tables, joins: joins, warnings: [])
  }

  private func table(of root: CompiledEntity, _ findings: inout LayoutFindings) throws -> SourceTable? {
    guard let table = schema.table("ecd" + root.name), let key = table.column("__objectid") else {
      findings.addMissing("the table ecd\(root.name) of “\(root.name)” is missing")
      return nil
    }
    var entityColumn: String?
    if root.subtree.count > 1 {
      guard let column = table.column("__entityType") else {
        findings.addMissing("the column __entityType of \(table.name) is missing")
        return nil
      }
      entityColumn = try Identifier.quoted(column.name)
    }
    var used: Set<String> = ["__OBJECTID", "__ENTITYTYPE"]
    var columns: [SourceColumn] = []
    for number in root.subtree {
      for slot in model.entities[number].slots where slot.declaringEntity == number && !slot.isTransient && slot.kind != .none {
        // Subentities share the column of a name.
        let name = slot.relationship == nil ? slot.name : slot.name + "__objectid"
        guard let column = table.column(name) else {
          // This store does not support composite attributes, so it has no column or value for a part of one.
          if slot.name.contains(".") { continue }
          findings.addMissing("the column \(name) of \(table.name) is missing")
          continue
        }
        used.insert(column.name.uppercased())
        if slot.relationship != nil { used.insert((slot.name + "_order").uppercased()) }
        columns.append(SourceColumn(name: try Identifier.quoted(column.name), slot: slot))
      }
    }
    var orders: [SourceOrder] = []
    for (relationship, inverse) in SourceLayout.ordered(in: model, membersBelow: root) {
      guard let column = table.column(inverse.name + "_order") else {
        findings.addMissing("the column \(inverse.name)_order of \(table.name) is missing, which orders “\(relationship.name)”")
        continue
      }
      orders.append(SourceOrder(name: try Identifier.quoted(column.name), relationship: relationship, inverse: inverse))
    }
    for column in table.columns where !used.contains(column.name.uppercased()) {
      if try SourceLayout.hasValues(column.name, in: table.name, connection) {
        findings.addUnknown("the column \(column.name) of \(table.name), which has values, is not in the model")
      }
    }
    var entities: [Int64: Int] = [:]
    for number in root.subtree {
      let hash = FoundationStringHash.hash(model.entities[number].name)
      entities[Int64(bitPattern: hash)] = number
      // The value that a 32-bit process writes.
      entities[Int64(Int32(truncatingIfNeeded: hash))] = number
    }
    return SourceTable(
      root: root, name: try Identifier.quoted(table.name), key: try Identifier.quoted(key.name), entityColumn: entityColumn,
      entities: entities, columns: columns, orders: orders)
  }

  // MARK: Many-to-many

  /// Returns the join table of a relationship.
  ///
  /// Each relationship has its own table, named after itself and its inverse. Both tables contain all links, each with its own order.
  /// Earlier versions used one table for both.
  private func join(of relationship: CompiledRelationship, _ findings: inout LayoutFindings) throws -> SourceJoin? {
    let source = model.entities[relationship.sourceEntity]
    guard let inverse = model.inverse(of: relationship) else {
      findings.addWarning(
        "“\(source.name).\(relationship.name)” has no inverse, and the encrypted Core Data store keeps no such relationship")
      return nil
    }
    let own = schema.table("ecd_\(relationship.name)_\(inverse.name)")
    let other = inverse.id == relationship.id ? nil : schema.table("ecd_\(inverse.name)_\(relationship.name)")
    guard let table = own ?? other else {
      findings.addMissing("the table ecd_\(relationship.name)_\(inverse.name) of “\(source.name).\(relationship.name)” is missing")
      return nil
    }
    let roots = [source.root, model.entities[relationship.destinationEntity].root].map { model.entities[$0].name }
    let isOneTree = roots[0] == roots[1]
    if isOneTree, inverse.id != relationship.id, own == nil || other == nil {
      findings.addMissing(
        "the table \(table.name) was written by a version that kept both directions of “\(source.name).\(relationship.name)” in one table, "
          + "where they cannot be distinguished")
      return nil
    }
    /// Returns the column of one end in a relationship's table. If both ends are in the same tree, the relationship's own objects come
    /// first.
    func column(_ end: Int, _ kind: String, ownTable: Bool = true) throws -> String {
      let number = isOneTree ? "_\((end == 0) == ownTable ? 1 : 2)" : ""
      return try Identifier.quoted(roots[end] + number + kind)
    }
    let isOwn = own != nil
    let near = try column(0, "__objectid", ownTable: isOwn)
    let far = try column(1, "__objectid", ownTable: isOwn)
    for name in [near, far] where !table.columns.contains(where: { "\"\($0.name.uppercased())\"" == name.uppercased() }) {
      findings.addMissing("the column \(name) of \(table.name) is missing")
      return nil
    }
    var nearOrder: String?
    if inverse.isOrdered, inverse.id != relationship.id {
      if isOwn, let other {
        nearOrder =
          "(SELECT k.\(try column(0, "_order", ownTable: false)) FROM \(try Identifier.quoted(other.name)) AS k WHERE"
          + " k.\(try column(0, "__objectid", ownTable: false)) = j.\(near) AND k.\(try column(1, "__objectid", ownTable: false)) = j.\(far))"
      } else {
        nearOrder = "j.\(try column(0, "_order", ownTable: isOwn))"
      }
    }
    if let own, let other { try checkBoth(own, other, relationship, &findings) }
    return SourceJoin(
      relationship: relationship, name: try Identifier.quoted(table.name), near: near, far: far, nearOrder: nearOrder,
      farOrder: relationship.isOrdered ? "j.\(try column(1, "_order", ownTable: isOwn))" : nil)
  }

  private func checkBoth(
    _ own: SourceSchema.Table, _ other: SourceSchema.Table, _ relationship: CompiledRelationship, _ findings: inout LayoutFindings
  ) throws {
    func count(_ table: SourceSchema.Table) throws -> Int {
      let statement = try connection.statement(sql: "SELECT count(*) FROM \(try Identifier.quoted(table.name))")
      defer { statement.reset() }
      return try statement.step() ? statement.int(0) : 0
    }
    let counts = (try count(own), try count(other))
    if counts.0 != counts.1 {
      findings.addUnknown(
        "the tables \(own.name) and \(other.name) should hold the same links and have \(counts.0) and \(counts.1) rows, of which the first's"
      )
    }
  }
}

/// The result of `-[NSString hash]` for short strings, with which the encrypted Core Data store identifies the entities of a table.
///
/// CoreFoundation's sources publish the algorithm: a polynomial in 257 over the UTF-16 units, four at a time, with the fourth power
/// truncated to 32 bits, and a final shift by the length. Strings of more than 96 units are hashed partially; entity names are shorter.
enum FoundationStringHash {
  private static let powers: [UInt64] = [16_974_593, 66_049, 257, 1]
  private static let fourthPower: UInt64 = 67_503_105

  static func hash(_ text: String) -> UInt64 {
    let units = Array(text.utf16)
    let whole = units.count & ~3
    var result = UInt64(units.count)
    for start in stride(from: 0, to: whole, by: 4) {
      result = result &* fourthPower
      for place in 0..<4 { result = result &+ UInt64(units[start + place]) &* powers[place] }
    }
    for unit in units[whole...] { result = result &* 257 &+ UInt64(unit) }
    return result &+ (result << (UInt64(units.count) & 31))
  }
}
