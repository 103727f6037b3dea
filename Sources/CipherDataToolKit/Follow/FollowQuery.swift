import ObjectContext
import ObjectModel
import ObjectQuery

/// A sorted request whose results are followed, with the columns that are shown.
struct FollowQuery {
  let request: FetchRequest<ManagedObject>
  /// The expression that names the sections.
  let section: FetchExpression?
  let columns: [PropertyPath]

  /// Parses the texts of options.
  ///
  /// - Throws: ``ToolError`` with ``ExitStatus/usage``.
  init(
    entity: CompiledEntity, in model: CompiledModel, condition: String?, sort: String?, section: String?, limit: Int?, paths: [String]?
  ) throws {
    var request = FetchRequest<ManagedObject>(entityName: entity.name)
    request.predicate = try condition.map { try OptionText.predicate($0, option: "--where") }
    let sectionKey = try section.map { try FollowQuery.key($0, option: "--section") }
    var order = try sort.map { try OptionText.sortDescriptors($0) } ?? []
    let identity = IdentityTable(model).constraints(of: entity).first { !$0.hasRelationships }
    let names = identity?.slots.map { entity.slots[$0].name } ?? []
    if sort == nil { order = try (names.isEmpty ? [FollowQuery.firstAttribute(of: entity)] : names).map { FetchSortDescriptor($0) } }
    // The sort order begins with the sections.
    if let sectionKey, order.first?.expression != sectionKey.expression { order.insert(sectionKey, at: 0) }
    request.sortDescriptors = order
    request.fetchLimit = limit ?? 0
    self.request = request
    self.section = sectionKey?.expression
    columns = try FollowQuery.columns(paths, of: entity, in: model, names: names, order: order, section: self.section)
  }

  /// Returns the selected columns; by default, the identifying attributes and the sort keys.
  private static func columns(
    _ paths: [String]?, of entity: CompiledEntity, in model: CompiledModel, names: [String], order: [FetchSortDescriptor],
    section: FetchExpression?
  ) throws -> [PropertyPath] {
    if let paths { return try paths.map { try PropertyPath($0, of: entity, in: model) } }
    var columns: [PropertyPath] = []
    let sorted = order.filter { $0.expression != section }.compactMap(\.keyPath)
    for path in names + sorted where !columns.contains(where: { $0.text == path }) {
      // Computed expressions are not columns.
      if let column = try? PropertyPath(path, of: entity, in: model) { columns.append(column) }
    }
    return columns.isEmpty ? [try PropertyPath("@id", of: entity, in: model)] : columns
  }

  private static func key(_ text: String, option: String) throws -> FetchSortDescriptor {
    let keys = try OptionText.sortDescriptors(text, option: option)
    guard let key = keys.first, keys.count == 1 else { throw ToolError(.usage, "\(option) takes one key; \(keys.count) are given.") }
    return key
  }

  /// Returns any sortable attribute of the entity. It is used if there is neither a unique attribute nor a requested order, so that the
  /// order does not matter.
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
