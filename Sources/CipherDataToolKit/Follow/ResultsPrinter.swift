import ArgumentParser
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery

/// A printer for the results of a controller and their changes, with their positions.
///
/// It reads the objects of a change during the notification, so that the output matches the positions.
@MainActor final class ResultsPrinter {
  enum Format: String, CaseIterable, ExpressibleByArgument { case text, jsonl }

  /// The number of objects read together.
  private static let portion = 500

  private let columns: [PropertyPath]
  private let identities: IdentityTable
  private let format: Format
  /// Whether it is known which results have changed values. If not, results that keep their position are not printed.
  private let knowsValues: Bool
  private let sink: OutputSink
  /// An error while a change was printed. The delegate method cannot throw it.
  private var failure: (any Error)?

  init(columns: [PropertyPath], model: CompiledModel, format: Format, knowsValues: Bool, to sink: OutputSink) {
    (self.columns, self.format, self.knowsValues, self.sink) = (columns, format, knowsValues, sink)
    identities = IdentityTable(model)
  }

  /// Throws the error that occurred since the last call.
  func check() throws {
    defer { failure = nil }
    if let failure { throw failure }
  }

  // MARK: The results

  /// Prints all results, section by section.
  func print(_ controller: FetchedResultsController<ManagedObject>) throws {
    let sections = controller.sections ?? []
    let isSectioned = controller.sectionNameExpression != nil
    let count = CountText.text(controller.numberOfObjects, "result")
    try header(
      "results", "= \(count)\(isSectioned ? " in \(CountText.text(sections.count, "section"))" : "")",
      [("count", .integer(controller.numberOfObjects)), ("sections", .integer(sections.count))])
    let snapshot = controller.snapshot
    for (index, section) in snapshot.sections.enumerated() {
      if isSectioned { try self.section("section", "=", index, section.name, section.itemIdentifiers.count) }
      try items(section.itemIdentifiers.enumerated().map { Line("result", " ", nil, [index, $0.offset], $0.element) }, in: controller)
    }
    try sink.flush()
  }

  // MARK: A change

  private func print(_ change: ResultsChange, of controller: FetchedResultsController<ManagedObject>) throws {
    let updated = knowsValues ? change.updated : []
    if change.inserted.isEmpty && change.removed.isEmpty && change.moved.isEmpty && updated.isEmpty { return }
    try header(
      "change",
      "* \(change.inserted.count) inserted, \(change.removed.count) removed, \(change.moved.count) moved, \(updated.count) updated: \(CountText.text(controller.numberOfObjects, "result"))",
      [
        ("inserted", .integer(change.inserted.count)), ("removed", .integer(change.removed.count)),
        ("moved", .integer(change.moved.count)), ("updated", .integer(updated.count)),
        ("count", .integer(controller.numberOfObjects)),
      ])
    for section in change.removedSections { try self.section("sectionRemoved", "-", section.index, section.name, nil) }
    for section in change.insertedSections { try self.section("sectionInserted", "+", section.index, section.name, nil) }
    for item in change.removed { try write(Line("removed", "-", item.indexPath.map { $0 }, nil, item.objectID), nil) }
    try items(change.inserted.map { Line("inserted", "+", nil, $0.indexPath.map { $0 }, $0.objectID) }, in: controller)
    try items(change.moved.map { Line("moved", $0.isUpdated ? "»" : ">", $0) }, in: controller)
    try items(updated.map { Line("updated", "~", $0) }, in: controller)
    // Output must appear immediately.
    try sink.flush()
  }

  // MARK: Lines

  /// An object with its positions.
  private struct Line {
    let event: String
    let sign: String
    let old: [Int]?
    let new: [Int]?
    let objectID: ManagedObjectID
    var isUpdated: Bool?

    init(_ event: String, _ sign: String, _ old: [Int]?, _ new: [Int]?, _ objectID: ManagedObjectID) {
      (self.event, self.sign, self.old, self.new, self.objectID) = (event, sign, old, new, objectID)
    }

    init(_ event: String, _ sign: String, _ kept: ResultsChange.ChangedItem) {
      self.init(event, sign, kept.oldIndexPath.map { $0 }, kept.newIndexPath.map { $0 }, kept.objectID)
      if event == "moved" { isUpdated = kept.isUpdated }
    }
  }

  private func header(_ event: String, _ text: String, _ members: [(String, JSONValue)]) throws {
    try sink.line(format == .text ? text : JSONValue.object([("event", .string(event))] + members).serialized())
  }

  private func section(_ event: String, _ sign: String, _ index: Int, _ name: String, _ size: Int?) throws {
    switch format {
    case .text: try sink.line("\(sign) section \(index)  \(TableWriter.printable(name))\(size.map { "  (\($0))" } ?? "")")
    case .jsonl:
      try sink.line(
        JSONValue.object(
          [("event", .string(event)), ("section", .integer(index)), ("name", .string(name))]
            + (size.map { [("count", .integer($0))] } ?? [])
        ).serialized())
    }
  }

  /// Prints objects with their values, which are fetched together.
  private func items(_ lines: [Line], in controller: FetchedResultsController<ManagedObject>) throws {
    for start in stride(from: 0, to: lines.count, by: Self.portion) {
      let part = lines[start..<min(start + Self.portion, lines.count)]
      let objects = try controller.managedObjectContext.objects(
        with: part.map(\.objectID), entityName: controller.fetchRequest.specification.entityName)
      let found = Dictionary(objects.map { ($0.objectID, $0) }, uniquingKeysWith: { first, _ in first })
      for line in part { try write(line, found[line.objectID]) }
    }
  }

  private func write(_ line: Line, _ object: ManagedObject?) throws {
    let values = object.map { object in columns.map { $0.value(of: object, identities: identities, isCell: format == .text) } }
    switch format {
    case .text:
      func place(_ place: [Int]) -> String { place.map(String.init).joined(separator: ".") }
      let (old, new) = (line.old.map(place), line.new.map(place))
      let places = old == new ? old ?? "" : [old, new].compactMap(\.self).joined(separator: " → ")
      let name = line.objectID.uriString
      let text = values?.map { TableWriter.printable($0.plainText) }.joined(separator: "  ") ?? name
      try sink.line("\(line.sign) \(places)  \(text)")
    case .jsonl:
      func place(_ place: [Int]?) -> JSONValue? { place.map { .array($0.map { .integer($0) }) } }
      var members: [(String, JSONValue)] = [("event", .string(line.event)), ("object", .string(line.objectID.uriString))]
      if let old = place(line.old) { members.append((line.new == nil ? "at" : "from", old)) }
      if let new = place(line.new) { members.append((line.old == nil ? "at" : "to", new)) }
      if let isUpdated = line.isUpdated { members.append(("updated", .bool(isUpdated))) }
      if let values { members.append(("values", .object(Array(zip(columns.map(\.text), values))))) }
      try sink.line(JSONValue.object(members).serialized())
    }
  }
}

extension ResultsPrinter: @MainActor FetchedResultsControllerDelegate {
  func controller(_ controller: FetchedResultsController<ManagedObject>, didChangeContentWith change: ResultsChange) {
    if failure != nil { return }
    do { try print(change, of: controller) } catch { failure = error }
  }
}
