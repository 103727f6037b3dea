package import Foundation
import ObjectModel

/// Writes a graph in the layout of Core Data's SQLite store.
///
/// The layout follows public descriptions and schemas (see Documentation/ComingFromCoreData.md), independently of the reader's assumptions.
/// It uses no file of Apple's.
package struct AppleFixtureWriter {
  /// The size in bytes from which binary values are stored in files, if the attribute allows it.
  package var externalThreshold = 64
  /// Whether the file uses write-ahead logging, as Core Data's do. The log remains if `keepsLog` is set.
  package var usesLog = false
  /// More rows of Z_PRIMARYKEY, for entities that the model does not have.
  package var moreEntities: [(number: Int64, name: String)] = []
  /// Whether to write columns for the foreign entity key, as Core Data does if a destination has subentities.
  package var writesEntityColumns = true

  private let graph: FixtureGraph
  private let naming: AppleFixtureNames
  private var model: CompiledModel { graph.model }

  package init(_ graph: FixtureGraph) {
    self.graph = graph
    naming = AppleFixtureNames(graph.model)
  }

  /// Returns Core Data's number of an entity.
  package func number(of entity: String) throws -> Int64 {
    guard let number = model.entity(named: entity).flatMap({ naming.numbers[$0.number] }) else {
      throw FixtureError(description: "no entity \(entity)")
    }
    return number
  }

  /// Writes the store.
  ///
  /// - Parameter settings: Pragmas that run first.
  /// - Returns: The open database, for further changes; closing it completes the fixture.
  @discardableResult
  package func write(to url: URL, settings: [String] = []) throws -> FixtureDatabase {
    let database = try FixtureDatabase(url, settings: settings)
    if usesLog { try database.run("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0") }
    try database.run("BEGIN")
    try createTables(database)
    try writeMetadata(database)
    for position in graph.objects.indices { try writeRow(position, database, url) }
    try writeLinks(database)
    try database.run("COMMIT")
    return database
  }

  // MARK: Tables

  private func createTables(_ database: FixtureDatabase) throws {
    for root in model.entities where root.parent == nil {
      var columns = ["Z_PK INTEGER PRIMARY KEY", "Z_ENT INTEGER", "Z_OPT INTEGER"]
      for (slot, name) in naming.columns(of: root) {
        columns.append("\(name) \(Self.type(of: slot))")
        if let relationship = slot.relationship, let column = entityColumn(relationship) { columns.append("\(column) INTEGER") }
      }
      for (_, name) in naming.orders(of: root) { columns.append("\(name) INTEGER") }
      try database.run("CREATE TABLE \(naming.table(of: root)) ( \(columns.joined(separator: ", ")) )")
    }
    for join in naming.joins {
      var columns = ["\(join.near) INTEGER", "\(join.far) INTEGER"]
      for order in [join.nearOrder, join.farOrder].compactMap({ $0 }) { columns.append("\(order) INTEGER") }
      try database.run("CREATE TABLE \(join.table) ( \(columns.joined(separator: ", ")), PRIMARY KEY (\(join.near), \(join.far)) )")
    }
    try database.run(
      "CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);"
        + "CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);"
        + "CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)")
  }

  private func writeMetadata(_ database: FixtureDatabase) throws {
    for entity in model.entities {
      let maximum = graph.objects.filter { model.entity(named: $0.entity)?.root == entity.root }.map(\.key).max() ?? 0
      try database.insert(
        into: "Z_PRIMARYKEY",
        [
          ("Z_ENT", .int(naming.numbers[entity.number] ?? 0)), ("Z_NAME", .text(entity.name)),
          ("Z_SUPER", .int(entity.parent.flatMap { naming.numbers[$0] } ?? 0)), ("Z_MAX", .int(entity.parent == nil ? maximum : 0)),
        ])
    }
    for (number, name) in moreEntities {
      try database.insert(
        into: "Z_PRIMARYKEY", [("Z_ENT", .int(number)), ("Z_NAME", .text(name)), ("Z_SUPER", .int(0)), ("Z_MAX", .int(0))])
    }
    let list: [String: Any] = [
      "NSStoreType": "SQLite", "NSStoreModelVersionIdentifiers": ["fixture 1"], "NSStoreModelVersionHashesVersion": 3,
      "NSPersistenceFrameworkVersion": 1300,
      "NSStoreModelVersionHashes": Dictionary(uniqueKeysWithValues: model.entities.map { ($0.name, Data(repeating: 7, count: 32)) }),
    ]
    try database.insert(
      into: "Z_METADATA",
      [
        ("Z_VERSION", .int(1)), ("Z_UUID", .text("B5C9A3D2-6C1E-4B5D-9A55-0F2E5A0C1D22")),
        ("Z_PLIST", .blob(try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0))),
      ])
    try database.insert(into: "Z_MODELCACHE", [("Z_CONTENT", .blob(Data([1, 2, 3])))])
  }

  private func entityColumn(_ relationship: CompiledRelationship) -> String? {
    let target = model.entities[relationship.destinationEntity]
    guard writesEntityColumns, target.subtree.count > 1, let number = naming.numbers[target.number] else { return nil }
    return "Z\(number)_\(relationship.name.uppercased())"
  }

  private static func type(of slot: CompiledSlot) -> String {
    switch slot.attributeType {
    case nil, .integer16, .integer32, .integer64, .boolean: "INTEGER"
    case .double, .float: "FLOAT"
    case .date: "TIMESTAMP"
    case .decimal: "DECIMAL"
    case .string, .uri: "VARCHAR"
    case .binary, .transformable, .uuid, .undefined, .composite: "BLOB"
    }
  }

  // MARK: Rows

  private func writeRow(_ position: Int, _ database: FixtureDatabase, _ url: URL) throws {
    let object = graph.objects[position]
    let entity = try graph.entity(of: position)
    let root = model.entities[entity.root]
    var row: [(column: String, value: FixtureValue)] = [
      ("Z_PK", .int(object.key)), ("Z_ENT", .int(naming.numbers[entity.number] ?? 0)), ("Z_OPT", .int(1 + Int64(position % 5))),
    ]
    for (slot, name) in naming.columns(of: root) where model.entities[slot.declaringEntity].subtree.contains(entity.number) {
      guard let relationship = slot.relationship else {
        row.append((name, try value(object.values[slot.name] ?? .null, slot, url)))
        continue
      }
      let target = object.toOne[slot.name]
      row.append((name, target.map { .int(graph.objects[$0].key) } ?? .null))
      if let column = entityColumn(relationship) {
        row.append((column, try target.map { .int(naming.numbers[try graph.entity(of: $0).number] ?? 0) } ?? .null))
      }
    }
    for (relationship, name) in naming.orders(of: root) {
      guard let inverse = model.inverse(of: relationship), let owner = object.toOne[inverse.name],
        let place = graph.place(of: position, in: owner, relationship.name)
      else { continue }
      row.append((name, .int(Int64(place + 1) * 1024)))
    }
    try database.insert(into: naming.table(of: root), row)
  }

  private func value(_ slot: Slot, _ compiled: CompiledSlot, _ url: URL) throws -> FixtureValue {
    switch (slot, compiled.attributeType) {
    case (.null, _): return .null
    case (.bytes(let data), .decimal):
      guard let decimal = DecimalCoding.decode(data) else { return .null }
      return .text(NSDecimalNumber(decimal: decimal).description(withLocale: Locale(identifier: "en_US_POSIX")))
    case (.bytes(let data), .binary), (.bytes(let data), .transformable):
      guard compiled.attribute?.allowsExternalBinaryDataStorage == true else { return .blob(data) }
      if data.count < externalThreshold { return .blob([1] + data) }
      let name = UUID().uuidString
      let folder = Self.externalFolder(of: url)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try data.write(to: folder.appendingPathComponent(name))
      return .blob([2] + Data(name.utf8) + [0])
    case (.bytes(let data), _): return .blob(data)
    case (.int(let value), _): return .int(value)
    case (.real(let value), _): return .real(value)
    case (.text(let value), _): return .text(value)
    }
  }

  /// The folder of a store's external values.
  package static func externalFolder(of url: URL) -> URL {
    url.deletingLastPathComponent().appendingPathComponent(".\(url.deletingPathExtension().lastPathComponent)_SUPPORT/_EXTERNAL_DATA")
  }

  // MARK: Links

  private func writeLinks(_ database: FixtureDatabase) throws {
    for join in naming.joins {
      let inverse = model.inverse(of: join.relationship)
      for position in graph.objects.indices {
        for (place, member) in (graph.objects[position].toMany[join.relationship.name] ?? []).enumerated() {
          guard model.entities[join.relationship.sourceEntity].subtree.contains(try graph.entity(of: position).number) else { continue }
          var row: [(column: String, value: FixtureValue)] = [
            (join.near, .int(graph.objects[position].key)), (join.far, .int(graph.objects[member].key)),
          ]
          if let order = join.farOrder { row.append((order, .int(Int64(place + 1) * 2048))) }
          if let order = join.nearOrder, let inverse, let place = graph.place(of: position, in: member, inverse.name) {
            row.append((order, .int(Int64(place + 1) * 512)))
          }
          try database.insert(into: join.table, row)
        }
      }
    }
  }
}
