package import Foundation
import ObjectModel

/// Writes a graph in the layout of the public Encrypted Core Data store for SQLCipher. Tables, columns and values follow its public
/// sources.
package struct EncryptedFixtureWriter {
  /// Whether one table contains both directions of a many-to-many relationship, as earlier versions wrote them.
  package var usesOneTable = false
  private let graph: FixtureGraph
  private var model: CompiledModel { graph.model }

  package init(_ graph: FixtureGraph) { self.graph = graph }

  /// Writes the store.
  ///
  /// - Parameters:
  ///   - passphrase: SQLCipher's passphrase; nil for a plaintext file.
  ///   - settings: Pragmas after the key.
  @discardableResult
  package func write(to url: URL, passphrase: String?, settings: [String] = []) throws -> FixtureDatabase {
    let database = try FixtureDatabase(url, passphrase: passphrase, settings: settings)
    try database.run("BEGIN; CREATE TABLE meta(plist)")
    try database.insert(into: "meta", [("plist", .blob(Data([0x62, 0x70])))])
    for root in model.entities where root.parent == nil { try createTable(root, database) }
    for relationship in manyToMany { try createJoin(relationship, database) }
    for position in graph.objects.indices { try writeRow(position, database) }
    for relationship in manyToMany { try writeLinks(relationship, database) }
    try database.run("COMMIT")
    return database
  }

  private func createTable(_ root: CompiledEntity, _ database: FixtureDatabase) throws {
    var columns = ["'__objectid' integer primary key"]
    if root.subtree.count > 1 { columns.append("'__entityType' integer") }
    var names: [String] = []
    for number in root.subtree {
      for slot in model.entities[number].slots where slot.declaringEntity == number && !slot.isTransient && slot.kind != .none {
        let all = slot.relationship == nil ? ["'\(slot.name)'"] : ["'\(slot.name)__objectid'", "'\(slot.name)_order' integer default 0"]
        for name in all where !names.contains(name) { names.append(name) }
      }
    }
    try database.run("CREATE TABLE ecd\(root.name) (\((columns + names).joined(separator: ", ")))")
  }

  private func writeRow(_ position: Int, _ database: FixtureDatabase) throws {
    let object = graph.objects[position]
    let entity = try graph.entity(of: position)
    let root = model.entities[entity.root]
    var row: [(column: String, value: FixtureValue)] = [("__objectid", .int(object.key))]
    // Foundation's own hash, which the store uses.
    if root.subtree.count > 1 { row.append(("__entityType", .int(Int64((entity.name as NSString).hash)))) }
    for slot in entity.slots where !slot.isTransient && slot.kind != .none {
      guard let relationship = slot.relationship else {
        row.append((slot.name, value(object.values[slot.name] ?? .null, slot)))
        continue
      }
      row.append((slot.name + "__objectid", object.toOne[slot.name].map { .int(graph.objects[$0].key) } ?? .null))
      if let inverse = model.inverse(of: relationship), inverse.isOrdered, let owner = object.toOne[slot.name],
        let place = graph.place(of: position, in: owner, inverse.name)
      {
        row.append((slot.name + "_order", .int(Int64(place))))
      }
    }
    try database.insert(into: "ecd" + root.name, row)
  }

  private func value(_ slot: Slot, _ compiled: CompiledSlot) -> FixtureValue {
    switch (slot, compiled.attributeType) {
    case (_, .uuid), (_, .uri): .null
    case (.null, _): .null
    case (.bytes(let data), .decimal):
      .text(NSDecimalNumber(decimal: DecimalCoding.decode(data) ?? 0).description(withLocale: Locale(identifier: "en_US_POSIX")))
    case (.bytes(let data), _): .blob(data)
    case (.int(let value), _): .int(value)
    case (.real(let value), .date): .real(Date(timeIntervalSinceReferenceDate: value).timeIntervalSince1970)
    case (.real(let value), _): .real(value)
    case (.text(let value), _): .text(value)
    }
  }

  // MARK: Many-to-many

  private var manyToMany: [CompiledRelationship] {
    model.relationships.filter { relationship in
      guard relationship.isToMany, let inverse = model.inverse(of: relationship), inverse.isToMany else { return false }
      return !usesOneTable || relationship.name.lowercased() <= inverse.name.lowercased()
    }
  }

  private func columns(_ relationship: CompiledRelationship) -> (first: String, second: String, ownIsFirst: Bool) {
    let source = model.entities[model.entities[relationship.sourceEntity].root].name
    let target = model.entities[model.entities[relationship.destinationEntity].root].name
    if source == target { return (source + "_1", target + "_2", true) }
    let isFirst = source.lowercased() < target.lowercased()
    return isFirst ? (source, target, true) : (target, source, false)
  }

  private func table(_ relationship: CompiledRelationship) -> String {
    "ecd_\(relationship.name)_\(model.inverse(of: relationship)?.name ?? "")"
  }

  private func createJoin(_ relationship: CompiledRelationship, _ database: FixtureDatabase) throws {
    let (first, second, _) = columns(relationship)
    try database.run(
      "CREATE TABLE \(table(relationship)) ('\(first)__objectid' INTEGER NOT NULL, '\(second)__objectid' INTEGER NOT NULL, "
        + "'\(first)_order' INTEGER DEFAULT 0, '\(second)_order' INTEGER DEFAULT 0, PRIMARY KEY('\(first)__objectid', '\(second)__objectid'))"
    )
  }

  private func writeLinks(_ relationship: CompiledRelationship, _ database: FixtureDatabase) throws {
    let (first, second, ownIsFirst) = columns(relationship)
    let (own, other) = ownIsFirst ? (first, second) : (second, first)
    for position in graph.objects.indices {
      guard model.entities[relationship.sourceEntity].subtree.contains(try graph.entity(of: position).number) else { continue }
      for (place, member) in (graph.objects[position].toMany[relationship.name] ?? []).enumerated() {
        var row: [(column: String, value: FixtureValue)] = [
          (own + "__objectid", .int(graph.objects[position].key)), (other + "__objectid", .int(graph.objects[member].key)),
          (other + "_order", .int(Int64(place + 1))),
        ]
        if usesOneTable, let inverse = model.inverse(of: relationship), let place = graph.place(of: position, in: member, inverse.name) {
          row.append((own + "_order", .int(Int64(place + 1))))
        }
        try database.insert(into: table(relationship), row)
      }
    }
  }
}
