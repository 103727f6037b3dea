import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection

/// A full-text index of a store's file.
///
/// It is an FTS4 table, which both SQLCipher 3 and 4 support, of the words that `cd_words` extracts from the texts. The FTS4 table reads
/// its content from a view, so the texts are not stored twice. Triggers update it with every change of the rows. To remove words they read
/// the old text through the view, so they run before the row changes.
struct FullTextIndex: Sendable {
  /// The index in terms of the model.
  let meaning: FetchExplanation.Index
  /// The number of the entity that declares the index. The index contains only its objects and those of its subentities.
  let entity: Int
  /// The attributes, in the order of the columns c0, c1 ...
  let slots: [CompiledSlot]
  /// The FTS4 table's name, unquoted and quoted.
  let plainName, name: String
  /// The table, view and triggers, in the order of their creation.
  let auxiliaries: [SchemaAuxiliary]

  /// Returns the full-text indexes of a model whose attributes have columns in the tables.
  static func all(of tables: [EntityTable], layout: TableLayout, model: CompiledModel) throws -> [FullTextIndex] {
    guard model.hasFullTextIndexes, LibraryVersion.hasFullText else { return [] }
    var names = FullTextNames(layout)
    var result: [FullTextIndex] = []
    for table in tables {
      for number in table.root.subtree {
        for index in model.entities[number].entityDescription.indexes where index.isFullText {
          if let made = try FullTextIndex(index, of: model.entities[number], in: table, model: model, &names) { result.append(made) }
        }
      }
    }
    return result
  }

  private init?(
    _ index: FetchIndexDescription, of entity: CompiledEntity, in table: EntityTable, model: CompiledModel, _ names: inout FullTextNames
  ) throws {
    var slots: [CompiledSlot] = []
    var columns: [String] = []
    for element in index.elements {
      guard case .attribute(let slot)? = element.propertyName.flatMap(entity.property),
        let column = table.column(entity: entity.number, slot: slot.index)
      else { return nil }
      slots.append(slot)
      columns.append(column.name)
    }
    // The FTS4 table adds its own columns. Attributes without an index are searched without one.
    guard columns.count < LibraryVersion.maximumColumns - Self.ownColumnCount else { return nil }
    let plain = names.take("f_\(entity.name)_\(index.name)")
    let (name, view) = (try Identifier.quoted(plain.table), try Identifier.quoted(plain.view))
    let numbered = columns.indices.map { "c\($0)" }.joined(separator: ", ")
    let words = columns.enumerated().map { "\(SQLFunctions.words)(\(table.name).\($1)) AS c\($0)" }.joined(separator: ", ")
    func condition(_ row: String) -> String? {
      table.entityCondition(entity.number, includesSubentities: true, model: model, alias: row)
    }
    func trigger(_ suffix: String, _ event: String, _ row: String, _ more: String?, _ body: String) throws -> SchemaAuxiliary {
      let conditions = [condition(row), more.map { "(\($0))" }].compactMap { $0 }.joined(separator: " AND ")
      return try table.trigger(
        named: "t_\(plain.table)_\(suffix)", event, when: conditions.isEmpty ? nil : conditions, "\(body);")
    }
    let key = table.key
    let addition = "\(Self.addition(to: name)), \(numbered)) SELECT rowid, \(numbered) FROM \(view) WHERE rowid = new.\(key)"
    let removal = "\(Self.removal(from: name)) = old.\(key)"
    let changes = BalancedCondition.any(columns.map { "old.\($0) IS NOT new.\($0)" })
    let update = "UPDATE OF \(columns.joined(separator: ", "))"
    auxiliaries = [
      try table.view(named: plain.view, words, where: condition(table.name)),
      // `matchinfo=fts3` omits the data for ranking: relevance is computed from the texts.
      SchemaAuxiliary(
        kind: .table, name: plain.table,
        sql: "CREATE VIRTUAL TABLE \(name) USING fts4 (\(numbered), content=\(view), tokenize=simple, matchinfo=fts3)",
        fill: ["INSERT INTO \(name) (\(name)) VALUES ('rebuild')"], source: plain.view),
      try trigger("insert", "AFTER INSERT", "new", nil, addition),
      try trigger("delete", "BEFORE DELETE", "old", nil, removal),
      try trigger("leave", "BEFORE \(update)", "old", changes, removal),
      try trigger("enter", "AFTER \(update)", "new", changes, addition),
    ]
    self.slots = slots
    self.name = name
    plainName = plain.table
    self.entity = entity.number
    meaning = .init(origin: .fullText, entityName: entity.name, name: index.name, properties: slots.map(\.name))
  }

  /// The maximum number of columns that FTS4 adds.
  private static let ownColumnCount = 8

  private static func addition(to name: String) -> String { "INSERT INTO \(name) (docid" }
  private static func removal(from name: String) -> String { "DELETE FROM \(name) WHERE docid" }

  /// Returns whether a trigger in a file updates the index with a quoted name.
  static func isKept(_ name: String, by trigger: String) -> Bool {
    [addition(to: name), removal(from: name)].contains { trigger.contains("BEGIN \($0)") }
  }

  /// Returns the column of an attribute, or `nil` if it is not indexed.
  func column(of slot: CompiledSlot) -> String? {
    slots.firstIndex { $0.index == slot.index && $0.declaringEntity == slot.declaringEntity }.map { "c\($0)" }
  }
}

/// Allocates names for full-text indexes that do not clash with those of FTS4's shadow tables.
private struct FullTextNames {
  private var names: NameAllocator
  private var taken: Set<String>

  init(_ layout: TableLayout) {
    let used = BookkeepingTables.reservedNames + layout.tables.map(\.name) + layout.joinTables.map(\.name)
    names = NameAllocator(reserved: used)
    taken = Set(used.map { $0.lowercased() })
  }

  mutating func take(_ preferred: String) -> (table: String, view: String) {
    while true {
      let name = names.take(preferred)
      let shadowTables = ["_content", "_segments", "_segdir", "_docsize", "_stat"].map { (name + $0).lowercased() }
      if taken.isDisjoint(with: shadowTables) {
        taken.formUnion(shadowTables + [name.lowercased()])
        return (name, names.take("v" + name.dropFirst()))
      }
    }
  }
}

/// The full-text indexes that queries can use.
struct FullTextIndexes: Sendable {
  private let indexes: [FullTextIndex]

  init(_ indexes: [FullTextIndex]) { self.indexes = indexes }

  var isEmpty: Bool { indexes.isEmpty }

  /// Returns the indexes that contain the words of an attribute for objects of an entity or its subentities. The index of the entity that
  /// declares the attribute comes first, as it contains all objects that can have a value.
  func indexes(over slot: CompiledSlot, of entity: CompiledEntity, model: CompiledModel) -> [(index: FullTextIndex, column: String)] {
    indexes.compactMap { index in
      guard index.entity == slot.declaringEntity || model.entities[index.entity].subtree.contains(entity.number),
        let column = index.column(of: slot)
      else { return nil }
      return (index, column)
    }
  }

  func meaning(ofTable name: String) -> FetchExplanation.Index? { indexes.first { $0.plainName == name }?.meaning }

  /// Returns whether an attribute has an index.
  func contain(_ slot: CompiledSlot) -> Bool { indexes.contains { $0.column(of: slot) != nil } }

  var auxiliaries: [SchemaAuxiliary] { indexes.flatMap(\.auxiliaries) }
}
