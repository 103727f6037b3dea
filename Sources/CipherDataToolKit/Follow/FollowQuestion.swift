// FollowQuestion: what `follow` asks, from its options to a request that has an order.
import ObjectContext
import ObjectModel
import ObjectQuery

/// A request whose results are followed, with what is shown of each.
struct FollowQuestion {
  /// What is fetched.
  let request: FetchRequest<ManagedObject>
  /// What names the sections.
  let section: FetchExpression?
  /// The columns of a result.
  let columns: [PropertyPath]

  /// Makes a question out of texts.
  ///
  /// - Throws: ``ToolError`` with ``ExitStatus/usage``.
  init(
    entity: CompiledEntity, in model: CompiledModel, condition: String?, sort: String?, section: String?, limit: Int?, paths: [String]?
  ) throws {
    var request = FetchRequest<ManagedObject>(entityName: entity.name)
    request.predicate = try condition.map { try OptionText.predicate($0, option: "--where") }
    let sectionKey = try section.map { try FollowQuestion.key($0, option: "--section") }
    var order = try sort.map { try OptionText.sortDescriptors($0) } ?? []
    let identity = IdentityTable(model).constraints(of: entity).first { !$0.hasRelationships }
    let names = identity?.slots.map { entity.slots[$0].name } ?? []
    if sort == nil { order = try (names.isEmpty ? [FollowQuestion.firstAttribute(of: entity)] : names).map { FetchSortDescriptor($0) } }
    // Sections come in their order.
    if let sectionKey, order.first?.expression != sectionKey.expression { order.insert(sectionKey, at: 0) }
    request.sortDescriptors = order
    request.fetchLimit = limit ?? 0
    self.request = request
    self.section = sectionKey?.expression
    columns = try FollowQuestion.columns(paths, of: entity, in: model, names: names, order: order, section: self.section)
  }

  /// The columns that were asked for; else what an object is known by, and what it is sorted by.
  private static func columns(
    _ paths: [String]?, of entity: CompiledEntity, in model: CompiledModel, names: [String], order: [FetchSortDescriptor],
    section: FetchExpression?
  ) throws -> [PropertyPath] {
    if let paths { return try paths.map { try PropertyPath($0, of: entity, in: model) } }
    var columns: [PropertyPath] = []
    let sorted = order.filter { $0.expression != section }.compactMap(\.keyPath)
    for path in names + sorted where !columns.contains(where: { $0.text == path }) {
      // What is computed is no column.
      if let column = try? PropertyPath(path, of: entity, in: model) { columns.append(column) }
    }
    return columns.isEmpty ? [try PropertyPath("@id", of: entity, in: model)] : columns
  }

  private static func key(_ text: String, option: String) throws -> FetchSortDescriptor {
    let keys = try OptionText.sortDescriptors(text, option: option)
    guard let key = keys.first, keys.count == 1 else { throw ToolError(.usage, "\(option) takes one key; \(keys.count) are given.") }
    return key
  }

  /// An attribute that any entity's objects can be sorted by: where there is no unique value and no wish, the order is of no interest.
  private static func firstAttribute(of entity: CompiledEntity) throws -> String {
    guard
      let slot = entity.slots.first(where: { slot in
        slot.attribute != nil && !slot.isTransient && (slot.kind == .int || slot.kind == .real || slot.kind == .text)
      })
    else {
      throw ToolError(.usage, "\(entity.name) has no attribute to sort by; name a key with --sort.")
    }
    return slot.name
  }
}
