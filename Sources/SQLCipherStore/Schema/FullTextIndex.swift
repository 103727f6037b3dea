import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection

/// A full-text index of a store's file.
///
/// It is an FTS4 table, which both generations of SQLCipher have, of the words that `cd_words` makes of the texts. FTS4 gets a view in place of a content of
/// its own, so the words stand in the file once. Triggers keep it in step with whatever writes the rows; what they take out they read through the view, so they
/// do it before the row changes.
struct FullTextIndex: Sendable {
  /// What the model knows it as.
  let meaning: FetchExplanation.Index
  /// The number of the entity that declares it; rows of others are not in it.
  let entity: Int
  /// The attributes, in the order of the columns c0, c1 ...
  let slots: [CompiledSlot]
  /// The FTS4 table's name, as it is and quoted.
  let plainName, name: String
  /// What makes it, in order.
  let auxiliaries: [SchemaAuxiliary]

  /// Makes those of a model that a table has columns for.
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
    // The table of the words has some columns of its own. What has no index is searched without one.
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
      // What matchinfo() needs beyond positions is not kept: relevance is computed from the texts.
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

  /// The columns that FTS4 adds at most.
  private static let ownColumnCount = 8

  private static func addition(to name: String) -> String { "INSERT INTO \(name) (docid" }
  private static func removal(from name: String) -> String { "DELETE FROM \(name) WHERE docid" }

  /// Whether a trigger of a file keeps the index with a quoted name in step.
  static func isKept(_ name: String, by trigger: String) -> Bool {
    [addition(to: name), removal(from: name)].contains { trigger.contains("BEGIN \($0)") }
  }

  /// The column of an attribute; nil where it has none.
  func column(of slot: CompiledSlot) -> String? {
    slots.firstIndex { $0.index == slot.index && $0.declaringEntity == slot.declaringEntity }.map { "c\($0)" }
  }
}

/// Names for full-text indexes: with the tables that FTS4 makes beside its own.
private struct FullTextNames {
  private var names: NameAllocator
  private var taken: Set<String>

  init(_ layout: TableLayout) {
    let used = BookkeepingTables.reservedNames + layout.tables.map(\.name) + layout.joinTables.map(\.name)
    names = NameAllocator(reserved: used)
    taken = Set(used.map { $0.lowercased() })
  }

  mutating func take(_ wanted: String) -> (table: String, view: String) {
    while true {
      let name = names.take(wanted)
      let beside = ["_content", "_segments", "_segdir", "_docsize", "_stat"].map { (name + $0).lowercased() }
      if taken.isDisjoint(with: beside) {
        taken.formUnion(beside + [name.lowercased()])
        return (name, names.take("v" + name.dropFirst()))
      }
    }
  }
}

/// The full-text indexes that a query may use.
struct FullTextIndexes: Sendable {
  private let indexes: [FullTextIndex]

  init(_ indexes: [FullTextIndex]) { self.indexes = indexes }

  var isEmpty: Bool { indexes.isEmpty }

  /// Those that find the words of an attribute of objects of an entity, or of one below it: the attribute's own come first, as they have all objects that
  /// can have a value.
  func indexes(over slot: CompiledSlot, of entity: CompiledEntity, model: CompiledModel) -> [(index: FullTextIndex, column: String)] {
    indexes.compactMap { index in
      guard index.entity == slot.declaringEntity || model.entities[index.entity].subtree.contains(entity.number),
        let column = index.column(of: slot)
      else { return nil }
      return (index, column)
    }
  }

  /// What an index is called in the model, by its name in the file.
  func meaning(ofTable name: String) -> FetchExplanation.Index? { indexes.first { $0.plainName == name }?.meaning }

  /// Whether an index is over an attribute.
  func hold(_ slot: CompiledSlot) -> Bool { indexes.contains { $0.column(of: slot) != nil } }

  var auxiliaries: [SchemaAuxiliary] { indexes.flatMap(\.auxiliaries) }
}
