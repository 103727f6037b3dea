import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection
import StoreKeys
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// Values in a store's tables that the library never writes, but that a holder of the key can: reading them yields a typed error or a
/// result, never a trap.
final class HostileValueTests: XCTestCase {
  private typealias Models = SpecificationModels

  /// SQL literals: limits of integers, numbers of other rows, other types.
  private static let values = [
    "-9223372036854775808", "9223372036854775807", "-1", "0", "3", "77", "70368744177664", "'x'",
  ]

  /// Entity hierarchies, references with and without entity columns, join tables, orders, and large values.
  private static func makeModel() throws -> CompiledModel {
    var asset = Models.entity("Asset", [Models.text("name"), Models.toMany("notes", "Note", "asset")])
    asset.isAbstract = true
    return try Models.compiled([
      asset, Models.entity("Photo", [Models.integer("width"), Models.text("title")], parent: "Asset"),
      Models.entity("Video", [Models.attribute("price", .decimal), Models.attribute("key", .uuid)], parent: "Asset"),
      Models.entity(
        "Note",
        [
          Models.text("body"), Models.attribute("data", .binary), Models.toOne("asset", "Asset", "notes"), Models.toMany("assets", "Asset"),
          Models.toOne("page", "Page", "notes"),
        ]),
      Models.entity(
        "Page",
        [
          Models.attribute("date", .date), Models.toMany("notes", "Note", "page", ordered: true),
          Models.toMany("pages", "Page", "pages"),
        ]),
    ])
  }
  private static let known = Result { try makeModel() }
  private func model() throws -> CompiledModel { try Self.known.get() }

  private func makeStore() throws -> TestStore {
    let store = try TestStore()
    let open = try store.open(model())
    try open.save { save in
      let photo = try save.insert("Photo", ["name": .text("a"), "width": .int(3)])
      let video = try save.insert("Video", ["name": .text("b"), "price": Slot(Decimal(12)), "key": Slot(UUID())])
      let page = try save.insert("Page", ["date": .real(1)])
      for asset in [photo, video] {
        let note = try save.insert(
          "Note",
          [
            "body": .text("c"), "data": .bytes(Data([1, 2])), "asset": .int(asset.reference.rawValue),
            "page": .int(page.reference.rawValue),
          ])
        try save.change(note, "assets", add: [photo, video])
      }
      try save.change(page, "pages", add: [page])
    }
    try open.close()
    return store
  }

  /// Runs every kind of request, including some writes. Only typed errors may result.
  private func exercise(_ store: TestStore, _ what: String, inspects: Bool) {
    func attempt(_ body: () throws -> Void) {
      do {
        try body()
      } catch {
        XCTAssertTrue(error is StoreError, "\(what): \(type(of: error)) \(error)")
      }
    }
    attempt {
      let open = try store.open(model())
      defer { try? open.close() }
      var known: [String: [ManagedObjectID]] = [:]
      for entity in open.model.entities {
        let all = FetchSpecification(entityName: entity.name)
        attempt {
          for row in try open.rows(all) {
            for slot in entity.slots { _ = try row.slot(slot.index, kind: slot.kind) }
          }
        }
        attempt { known[entity.name] = try open.ids(all) }
        attempt { _ = try open.count(all) }
        attempt {
          var dictionaries = all
          dictionaries.resultType = .dictionaries
          dictionaries.propertiesToFetch = entity.name == "Note" ? ["objectID", "asset"] : ["objectID"]
          _ = try open.store.execute(.fetch(dictionaries), in: open.scope)
        }
      }
      for (name, ids) in known {
        let entity = try open.entity(name)
        attempt { _ = try open.store.newValuesForObjects(with: ids, in: open.scope) }
        for id in ids { attempt { _ = try open.row(id) } }
        for relationship in entity.toManyRelationships {
          attempt { _ = try open.store.newValues(forRelationship: relationship, forObjectsWith: ids, in: open.scope) }
        }
      }
      attempt { try open.insert("Photo", ["name": .text("new")]) }
      attempt { try open.insert("Note", ["body": .text("new")]) }
      attempt {
        guard let page = known["Page"]?.first else { return }
        let members = try open.store.newValues(
          forRelationship: open.relationship("Page", "notes"), forObjectsWith: [page], in: open.scope)[0]
        try open.save { save in
          let note = try save.insert("Note", ["page": .int(page.reference.rawValue)])
          let others = members.map {
            ManagedObjectID(space: note.space, entityNumber: UInt32($0.entity), key: $0.key)
          }
          try save.change(page, "notes", order: others.prefix(1) + [note] + others.dropFirst(1))
        }
      }
    }
    if !inspects { return }
    attempt {
      try waitFor { [url = store.url] in
        let file = try await SQLCipherStoreFile.unlock(at: url, key: TestStore.key)
        _ = try? await file.information()
        _ = try await file.findings(.quick)
      }
    }
  }

  func testTableCellsNeverCauseATrap() throws {
    let store = try makeStore()
    let tables = TableLayout(model: try model(), entityNumbers: Array(try model().entities.indices))
    var cells: [(table: String, column: String)] = [
      (BookkeepingTables.keys, "next"), (BookkeepingTables.lineage, "lineage"), (BookkeepingTables.lineage, "birth"),
    ]
    for table in tables.tables {
      let columns = table.columns.flatMap { [$0.name, $0.entityColumn] }
      let own = [table.keyColumn, table.versionColumn, table.entityColumn] + table.orderColumns.map(\.name)
      cells += (own + columns).compactMap { $0 }.map { (table.name, $0) }
    }
    for table in tables.joinTables { cells += table.physicalColumns.map { (table.name, $0) } }
    XCTAssertGreaterThan(cells.count, 20)
    try sweep(store, cells.flatMap { cell in Self.values.map { (cell.table, cell.column, $0) } })
  }

  func testMetadataCellsNeverCauseATrap() throws {
    let store = try makeStore()
    let original = TableLayout(model: try model(), entityNumbers: Array(try model().entities.indices))
    var layouts: [String] = []
    func add(_ change: (inout TableLayout) -> Void) throws {
      var layout = original
      change(&layout)
      let text = String(decoding: try JSONEncoder().encode(layout), as: UTF8.self)
      layouts.append("'\(text.replacingOccurrences(of: "'", with: "''"))'")
    }
    for number in [Int.max, Int.min, -1, 0] {
      try add { layout in
        for position in layout.tables[0].entities.indices { layout.tables[0].entities[position].discriminator = number &+ position }
      }
      try add { $0.tables[0].id = number }
    }
    try add { $0.tables[0].entityColumn = nil }
    try add { $0.tables[0].entities = [] }
    try add { $0.tables[0].entities.removeFirst() }
    try add { $0.tables[0].columns = [] }
    try add { $0.tables = [] }
    try add { $0.tables.reverse() }
    try add { $0.tables.append($0.tables[0]) }
    try add { $0.joinTables = [] }
    try add { $0.tables[0].name = "" }
    for index in original.tables.indices {
      try add { layout in for column in layout.tables[index].columns.indices { layout.tables[index].columns[column].entityColumn = nil } }
    }
    var cells: [(String, String, String)] = []
    let texts = Self.values + ["'{}'", "'[1]'", "'" + String(repeating: "[", count: 100_000) + "'", "zeroblob(100)"]
    for column in [
      "format", "identifier", "type", "checksum", "layout_basis", "version_identifiers", "user_metadata", "hashes", "layout", "model",
      "past_models", "deferred",
    ] {
      cells += texts.map { (BookkeepingTables.metadata, column, $0) }
    }
    try sweep(store, cells)
    // A different basis makes the store read its own layout.
    try sweep(store, layouts.map { (BookkeepingTables.metadata, "layout_basis = 'other', layout", $0) })
  }

  private func sweep(_ store: TestStore, _ cells: [(table: String, column: String, value: String)]) throws {
    let original = try Data(contentsOf: store.url)
    let keyring = try waitFor { [path = store.url.path] in try await StoreKeyring.unlock(storePath: path, key: TestStore.key) }
    var changed = 0
    for cell in cells {
      for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store.url.path + suffix) }
      try original.write(to: store.url)
      let connection = try Connection(opening: store.url.path, key: try keyring.databaseKey())
      let name = cell.table.hasPrefix("\"") ? cell.table : try Identifier.quoted(cell.table)
      let column = cell.column.contains("=") ? cell.column : try Identifier.quoted(cell.column)
      // Values that a constraint rejects cannot occur.
      let isChanged = (try? connection.execute("UPDATE \(name) SET \(column) = \(cell.value)")) != nil
      connection.close()
      guard isChanged else { continue }
      changed += 1
      exercise(store, "\(cell.table).\(cell.column) = \(cell.value.prefix(60))", inspects: cell.table == BookkeepingTables.metadata)
    }
    XCTAssertGreaterThan(changed, cells.count / 3)
  }

  func testReferenceWithAnotherEntityYieldsNoMismatchedRow() async throws {
    let store = try makeStore()
    try store.execute("UPDATE Note SET asset_entity = 5 - asset_entity")
    let coordinator = PersistentStoreCoordinator(compiledModel: try model())
    let opened = try await coordinator.addPersistentStore(with: store.description)
    defer { try? coordinator.remove(opened) }
    for isCached in [false, true] {
      let context = ManagedObjectContext(coordinator: coordinator, classes: ManagedObjectClasses([:]))
      if isCached {
        let assets: [ManagedObject] = try context.fetch(FetchRequest(entityName: "Asset"))
        XCTAssertEqual(assets.count, 2)
      }
      let notes: [ManagedObject] = try context.fetch(FetchRequest(entityName: "Note"))
      for note in notes {
        let asset = try XCTUnwrap(note.value(forKey: "asset") as? ManagedObject)
        XCTAssertNil(try? asset.value(forKey: "name"), asset.entity.name)
        XCTAssertEqual((context.pendingError as? StoreError)?.code, .storeCorrupt)
      }
    }
  }

  func testStatementConstantsAreReadWithinBounds() throws {
    let store = try makeStore()
    let open = try store.open(model())
    defer { try? open.close() }
    let engine = try XCTUnwrap(open.store as? SQLCipherIncrementalStore).engine(.read)
    for bytes in [
      "x''", "x'ffffffff'", "x'0100000000000000'", "x'01000000ffffffff02'", "x'02000000ffffffff0000000001'", "x'010000000100000001'",
    ] {
      for number in ["0", "1", "-1", "9223372036854775807"] {
        try engine.read { connection in
          let statement = try connection.statement(sql: "SELECT cd_constant(\(bytes), \(number))")
          defer { statement.reset() }
          XCTAssertTrue(try statement.step())
          XCTAssertTrue(statement.isNull(0), "\(bytes) \(number)")
        }
      }
    }
  }

  func testOrderKeysSupportTheFullNumberRange() {
    XCTAssertEqual(OrderKeys.assign([.min, nil, .max]), (1...3).map { $0 * OrderKeys.gap })
    XCTAssertEqual(OrderKeys.assign([.max, nil]), (1...2).map { $0 * OrderKeys.gap })
    XCTAssertEqual(OrderKeys.assign([nil, .min]), (1...2).map { $0 * OrderKeys.gap })
  }
}
