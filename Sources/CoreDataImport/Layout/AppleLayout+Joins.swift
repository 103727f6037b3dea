// Join tables of many-to-many relationships, such as Z_26ASSETS with the columns Z_26ALBUMS, Z_34ASSETS and Z_FOK_34ASSETS.
import ObjectModel
import SQLCipherConnection

extension AppleLayout {
  /// Returns the join table of a relationship and its inverse. The table is named after one of them: the entity number and the
  /// relationship's name.
  func join(of relationship: CompiledRelationship, _ findings: inout LayoutFindings) throws -> SourceJoin? {
    let inverse = model.inverse(of: relationship)
    var names: [String] = []
    for side in [relationship, inverse].compactMap({ $0 }) {
      guard let number = numbers[side.sourceEntity] else { return nil }
      let name = "Z_\(number)\(side.name.uppercased())"
      if !names.contains(name) { names.append(name) }
    }
    for name in names {
      for suffix in [""] + (1...8).map(String.init) {
        guard let table = schema.table(name + suffix) else { continue }
        if let join = try columns(of: relationship, inverse, in: table) { return join }
      }
    }
    findings.addMissing(
      "the table \(names.joined(separator: " or ")) of “\(model.entities[relationship.sourceEntity].name).\(relationship.name)” is missing or has "
        + "other columns")
    return nil
  }

  /// Returns the links of a to-many relationship whose declared inverse is a to-one relationship with a different inverse. Core Data reads
  /// them from the column of that relationship.
  func followed(_ relationship: CompiledRelationship, in tables: [SourceTable]) throws -> SourceJoin? {
    guard let inverse = model.followedInverse(of: relationship), !inverse.isToMany, !inverse.isTransient,
      let table = tables.first(where: { $0.root.subtree.contains(inverse.sourceEntity) }),
      let column = table.columns.first(where: { $0.slot.relationship?.id == inverse.id }),
      let owners = tables.first(where: { $0.root.subtree.contains(relationship.sourceEntity) })
    else { return nil }
    // The inverse may belong to more entities than the two of the relationship.
    func condition(_ table: SourceTable, _ entity: Int) -> String {
      let known = model.entities[entity].subtree.compactMap { numbers[$0] }.map(String.init).joined(separator: ", ")
      return table.entityColumn.map { "\($0) IN (\(known))" } ?? "1"
    }
    let links =
      "(SELECT \(table.key) AS member, \(column.name) AS owner FROM \(table.name) WHERE \(condition(table, relationship.destinationEntity)) "
      + "AND \(column.name) IN (SELECT \(owners.key) FROM \(owners.name) WHERE \(condition(owners, relationship.sourceEntity))))"
    return SourceJoin(relationship: relationship, name: links, near: "owner", far: "member", nearOrder: nil, farOrder: nil)
  }

  /// Determines the columns of both ends. A column is named after the number of the entity that it refers to, and the relationship whose
  /// members it contains.
  private func columns(
    of relationship: CompiledRelationship, _ inverse: CompiledRelationship?, in table: SourceSchema.Table
  ) throws -> SourceJoin? {
    let names = table.columns.map(\.name)
    var ends = names.filter { !$0.uppercased().hasPrefix("Z_FOK_") }
    guard ends.count == 2, let far = end(relationship, among: ends) else { return nil }
    ends.removeAll { $0 == far }
    let near = ends[0]
    let isReflexive = inverse?.id == relationship.id
    if let inverse, !isReflexive, end(inverse, among: [near]) == nil { return nil }
    // A relationship that is its own inverse has a column REFLEXIVE for its other end.
    if isReflexive, near.uppercased() != "REFLEXIVE", end(relationship, among: [near]) == nil { return nil }
    var farOrder: String?
    if relationship.isOrdered {
      guard let column = order(of: far, among: names) else { return nil }
      farOrder = column
    }
    var nearOrder: String?
    if let inverse, inverse.isOrdered, !isReflexive {
      guard let column = order(of: near, among: names) else { return nil }
      nearOrder = column
    }
    return SourceJoin(
      relationship: relationship, name: try Identifier.quoted(table.name), near: try Identifier.quoted(near),
      far: try Identifier.quoted(far), nearOrder: try nearOrder.map { "j.\(try Identifier.quoted($0))" },
      farOrder: try farOrder.map { "j.\(try Identifier.quoted($0))" })
  }

  /// Returns the column that contains a relationship's members.
  private func end(_ relationship: CompiledRelationship, among columns: [String]) -> String? {
    guard let number = numbers[relationship.destinationEntity] else { return nil }
    let name = relationship.name.uppercased()
    let exact = columns.first { AppleName.isNumbered(Substring($0.uppercased()), "Z_\(number)\(name)") }
    return exact
      ?? columns.first { column in
        let column = column.uppercased()
        guard column.hasPrefix("Z_") else { return false }
        let rest = column.dropFirst(2).drop { $0.isASCII && $0.isNumber }
        return AppleName.isNumbered(rest, name)
      }
  }

  /// Returns the column with the positions of the objects in a column.
  private func order(of column: String, among columns: [String]) -> String? {
    let upper = column.uppercased()
    let tail = upper.hasPrefix("Z_") ? String(upper.dropFirst(2)) : upper
    let wanted = ["Z_FOK_" + tail, "Z_FOK_" + tail.drop { $0.isASCII && $0.isNumber }]
    let orders = columns.filter { $0.uppercased().hasPrefix("Z_FOK_") }
    return orders.first { wanted.contains($0.uppercased()) } ?? (orders.count == 1 && columns.count == 3 ? orders[0] : nil)
  }
}
