import ArgumentParser
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore

/// A printer for the result of a history query, in bounded memory.
struct HistoryPrinter {
  let query: HistorySelection
  let container: PersistentContainer
  let sink: OutputSink
  private var coordinator: PersistentStoreCoordinator { container.persistentStoreCoordinator }

  init(_ query: HistorySelection, of container: PersistentContainer, to sink: OutputSink) {
    self.query = query
    self.container = container
    self.sink = sink
  }

  /// Prints JSON lines.
  func printLines() async throws {
    let changes = try query.changes(coordinator)
    var printer = HistoryLinePrinter(container, changes: changes, format: .jsonl, showsValues: query.showsValues, to: sink)
    _ = try await forEachPart(changes) { try await printer.print($0) }
    try sink.flush()
  }

  /// Passes the matching transactions to a closure, part by part.
  ///
  /// - Returns: The number of transactions, and the position after the last one; `nil` if there are none.
  private func forEachPart(
    _ changes: FetchPredicate?, _ body: (PersistentHistoryTransaction) async throws -> Void
  ) async throws -> (count: Int, last: PersistentHistoryToken?) {
    var (count, last, isContinuation): (Int, PersistentHistoryToken?, Bool) = (0, nil, false)
    for try await part in coordinator.history(after: query.after?.token, where: query.transactions, changes: changes) {
      if !isContinuation {
        if let limit = query.limit, count >= limit { break }
        count += 1
      }
      try await body(part)
      (isContinuation, last) = (part.isContinued, part.token)
    }
    return (count, last)
  }

  // MARK: Table

  /// Prints a row for each change. A transaction without changes has a row of its own.
  func printTable() async throws {
    var columns = ["time", "author", "kind", "change", "object", "properties"]
    if query.showsValues { columns += ["old", "new"] }
    let writer = TableWriter(columns: columns, to: sink)
    // Names are fetched for many transactions together, since most have few changes.
    var (waiting, size): ([PersistentHistoryTransaction], Int) = ([], 0)
    let (count, last) = try await forEachPart(try query.changes(coordinator)) { part in
      waiting.append(part)
      size += 1 + (part.changes?.count ?? 0)
      guard size >= 1_000 else { return }
      try await write(waiting, to: writer)
      (waiting, size) = ([], 0)
    }
    try await write(waiting, to: writer)
    try writer.finish()
    try sink.flush()
    if let last { Tool.note("\(count) transactions; the last token is \(last)") } else { Tool.note("no transactions") }
  }

  private func write(_ parts: [PersistentHistoryTransaction], to writer: TableWriter) async throws {
    let json = HistoryJSON(model: coordinator.compiledModel, showsValues: true)
    var names = try await names(of: parts.flatMap { $0.changes ?? [] })[...]
    var last: Int64?
    for part in parts {
      let time = InstantText.text(part.timestamp.timeIntervalSinceReferenceDate).map { JSONValue.string($0) } ?? .null
      let head: [JSONValue] = [time, part.author.map { .string($0) } ?? .null, .string(part.kind.rawValue)]
      let list = part.changes ?? []
      // The parts of a transaction list the same changes of the schema.
      let schemaChanges = part.transactionNumber == last ? [] : part.schemaChanges
      last = part.transactionNumber
      for change in schemaChanges {
        let row = head + [.string(change.kind.rawValue), .string(change.entityName), .string(change.propertyName ?? "")]
        try writer.write(row + (query.showsValues ? [.null, (json.value(change)?.serialized()).map { .string($0) } ?? .null] : []))
      }
      if list.isEmpty, schemaChanges.isEmpty, !part.isContinued {
        let whole: JSONValue = part.isWhole ? .string("(anything)") : .null
        try writer.write(head + [whole, .null, .null] + (query.showsValues ? [.null, .null] : []))
      }
      for change in list {
        var row = head + [.string(change.changeType.rawValue), .string((names.popFirst() ?? nil) ?? key(change.changedObjectID))]
        row.append(.string(properties(of: change)))
        if query.showsValues {
          let shown = json.change(change)
          row += [shown["old"]?.serialized(), shown["new"]?.serialized()].map { $0.map { .string($0) } ?? .null }
        }
        try writer.write(row)
      }
    }
  }

  private func properties(of change: PersistentHistoryChange) -> String {
    change.updatedProperties.map { name in
      let links = change.links.filter { $0.relationship == name }
      let (added, removed) = (links.count { $0.isAdded }, links.count { !$0.isAdded })
      let numbers = [added > 0 ? "+\(added)" : nil, removed > 0 ? "-\(removed)" : nil].compactMap { $0 }
      return numbers.isEmpty ? name : "\(name) \(numbers.joined(separator: " "))"
    }.joined(separator: ", ")
  }

  // MARK: Names of objects

  private func key(_ id: ManagedObjectID) -> String { "\(id.entityName) p\(id.key)" }

  /// Returns the values of an object's first constraint, as far as the history recorded them with the change.
  private func keptName(of change: PersistentHistoryChange, _ constraint: IdentityConstraint) -> String? {
    let entity = coordinator.compiledModel.entities[Int(change.changedObjectID.entityNumber)]
    return [change.newValues, change.oldValues, change.tombstone].lazy.compactMap { $0 }.compactMap { name(entity, constraint, $0) }.first
  }

  /// Returns the names of changed objects, from the values recorded with the change or else from the store.
  private func names(of changes: [PersistentHistoryChange]) async throws -> [String?] {
    let model = coordinator.compiledModel
    let table = IdentityTable(model)
    var names: [String?] = []
    var wanted: Set<ManagedObjectID> = []
    for change in changes {
      let id = change.changedObjectID
      let constraint = table.constraints(of: model.entities[Int(id.entityNumber)]).first
      let name = constraint.flatMap { keptName(of: change, $0) }
      if constraint != nil, name == nil { wanted.insert(id) }
      names.append(name)
    }
    if wanted.isEmpty { return names }
    let ids = wanted
    let found = try await container.performBackgroundTask { context -> [ManagedObjectID: String] in
      var found: [ManagedObjectID: String] = [:]
      for (entity, group) in Dictionary(grouping: ids, by: \.entityName) {
        let predicate = FetchPredicate.comparison(
          FetchComparison(left: .evaluatedObject, op: .in, right: .constant(.list(group.map { .object($0) }))))
        for object in try context.fetch(FetchRequest<ManagedObject>(entityName: entity, predicate: predicate)) {
          guard let key = table.key(of: object) else { continue }
          found[object.objectID] = "\(entity) \(Self.text(key.values, key.constraint, object.compiledEntity))"
        }
      }
      return found
    }
    return zip(names, changes).map { name, change in name ?? found[change.changedObjectID] }
  }

  private func name(_ entity: CompiledEntity, _ constraint: IdentityConstraint, _ values: PersistentHistoryChange.Values) -> String? {
    var slots: [Slot] = []
    for slot in constraint.slots {
      guard case .attribute(let value)? = values.values[entity.slots[slot].name], !value.isNull else { return nil }
      slots.append(value)
    }
    return "\(entity.name) \(Self.text(slots, constraint, entity))"
  }

  private static func text(_ values: [Slot], _ constraint: IdentityConstraint, _ entity: CompiledEntity) -> String {
    zip(values, constraint.slots).map { value, slot in
      guard let type = entity.slots[slot].attributeType else { return "→" }
      switch ValueCoding.cell(value, type: type) {
      case .string(let text): return text
      case let other: return other.serialized()
      }
    }.joined(separator: " / ")
  }
}

/// A printer for transactions: as JSON lines, one for the transaction and then at most a thousand changes a line; as text, one line for
/// each change.
struct HistoryLinePrinter {
  enum Format: String, CaseIterable, ExpressibleByArgument { case text, jsonl }

  private let json: HistoryJSON
  private let format: Format
  private let coordinator: PersistentStoreCoordinator
  private let filter: FetchPredicate?
  private let sink: OutputSink
  private var isContinuation = false

  /// Creates a printer.
  ///
  /// - Parameters:
  ///   - filter: The condition that selected the printed changes, by which they are also counted.
  ///   - showsValues: Whether JSON includes values, where the history has them.
  init(_ container: PersistentContainer, changes filter: FetchPredicate?, format: Format, showsValues: Bool, to sink: OutputSink) {
    coordinator = container.persistentStoreCoordinator
    self.filter = filter
    json = HistoryJSON(model: coordinator.compiledModel, showsValues: showsValues)
    self.format = format
    self.sink = sink
  }

  /// Prints a transaction, or the next part of one.
  mutating func print(_ part: PersistentHistoryTransaction) async throws {
    let changes = part.changes ?? []
    switch format {
    case .jsonl:
      if !isContinuation {
        try sink.line(json.header(part, try await HistoryCounts(of: part, in: coordinator, changes: filter)).serialized())
      }
      if !changes.isEmpty { try sink.line(json.changes(part).serialized()) }
    case .text:
      let time = InstantText.text(part.timestamp.timeIntervalSinceReferenceDate) ?? ""
      let head = "\(time)  \(part.author ?? "-")  \(part.kind.rawValue)"
      let schemaChanges = isContinuation ? [] : part.schemaChanges
      for change in schemaChanges {
        try sink.line(
          "\(head)  \(change.kind.rawValue)  \([change.entityName, change.propertyName].compactMap { $0 }.joined(separator: "."))")
      }
      if changes.isEmpty, schemaChanges.isEmpty, !part.isContinued, !isContinuation {
        try sink.line("\(head)  \(part.isWhole ? "(anything)" : "")")
      }
      for change in changes {
        let properties = change.updatedProperties.joined(separator: ",")
        try sink.line(
          "\(head)  \(change.changeType.rawValue)  \(change.changedObjectID.uriString)\(properties.isEmpty ? "" : "  \(properties)")")
      }
    }
    isContinuation = part.isContinued
  }
}
