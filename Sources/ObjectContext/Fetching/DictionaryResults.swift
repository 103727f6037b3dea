package import ObjectModel
public import ObjectQuery
package import ObjectStore

/// The rows of a fetch with dictionary results, from one or more stores.
package struct DictionaryResults {
  /// A row with one value for each column.
  package struct Row {
    /// The number of the store's ID space.
    package let space: UInt32
    /// The values by column; null for a missing value.
    package let values: [Slot]
  }
  package let columns: [DictionaryRows.Column]
  package let rows: [Row]
  /// The fetched entity.
  package let entity: CompiledEntity
  private let model: CompiledModel
  /// The attributes that define how column values are decoded; nil for object and entity columns.
  private let attributes: [AttributeDescription?]

  package init(columns: [DictionaryRows.Column], rows: [Row], entity: CompiledEntity, model: CompiledModel) {
    self.columns = columns
    self.rows = rows
    self.entity = entity
    self.model = model
    attributes = columns.map { column in
      switch column.content {
      case .attribute(let attribute): attribute
      case .value(let type): AttributeDescription(name: column.name, type: type)
      case .object, .entity: nil
      }
    }
  }

  /// Returns a value as its Swift type; nil if the value is missing.
  package func value(of row: Row, _ column: Int) throws -> (any Sendable)? {
    let value = row.values[column]
    if value.isNull { return nil }
    if let attribute = attributes[column] {
      // A sum that overflows 64 bits is a real number.
      if case .real(let number) = value, attribute.type.slotKind == .int { return number }
      return try ManagedObject.swiftValue(value, attribute, entityName: entity.name)
    }
    switch columns[column].content {
    case .attribute, .value: return nil
    case .object:
      guard case .int(let word) = value else { return nil }
      let reference = ObjectReference(rawValue: word)
      return ManagedObjectID(space: row.space, entityNumber: UInt32(reference.entity), key: reference.key)
    case .entity:
      guard case .int(let number) = value, model.entities.indices.contains(Int(number)) else { return nil }
      return model.entities[Int(number)].name
    }
  }

  /// Returns a row as a dictionary that omits missing values.
  package func dictionary(of row: Row) throws -> [String: Any] {
    var dictionary: [String: Any] = [:]
    for (index, column) in columns.enumerated() {
      guard let value = try value(of: row, index) else { continue }
      dictionary[column.name] = attributes[index].map { AttributeConversion.untyped(value, of: $0.type) } ?? value
    }
    return dictionary
  }
}

// MARK: - Fetching dictionaries

extension ManagedObjectContext {
  /// Returns the dictionaries that a request selects.
  ///
  /// The keys are property names, dotted paths, or the names of computed values. Values are attribute values, IDs for objects, names for
  /// entities, and computed values. A missing value has no key.
  ///
  /// The stores create the dictionaries, so they contain saved values only, regardless of ``FetchSpecification/includesPendingChanges``.
  ///
  /// - Throws: ``FetchPredicateError`` for an invalid request; ``StoreError`` from the store.
  public func fetch(_ request: FetchRequest<[String: Any]>) throws -> [[String: Any]] {
    let results = try dictionaryResults(of: request.specification)
    return try results.rows.map { try results.dictionary(of: $0) }
  }

  /// Returns the rows of a request for dictionaries, decoded as values whose coding keys are the names of the fetched properties.
  ///
  /// ```swift
  /// struct Section: Decodable { let section: String?, n: Int }
  /// let request = FetchRequest<[String: Any]>(entityName: "Package")
  ///   .selecting("section", .expression(try FetchExpression(format: "count(*)"), as: "n")).grouped(by: "section")
  /// let sections = try context.fetch(request, as: Section.self)
  /// ```
  ///
  /// A property whose value may be missing must be optional. If the request fetches one property, its rows can be decoded as plain values.
  ///
  /// - Throws: `DecodingError`, which names the column; the errors of a fetch of dictionaries.
  public func fetch<Row: Decodable>(_ request: FetchRequest<[String: Any]>, as type: Row.Type) throws -> [Row] {
    let results = try dictionaryResults(of: request.specification)
    let names = Dictionary(results.columns.enumerated().map { ($1.name, $0) }) { first, _ in first }
    return try results.rows.map { try DictionaryRowDecoder(results, $0, names).decode(type) }
  }

  // MARK: Fetching

  /// Returns the rows of a fetch with dictionary results.
  package func dictionaryResults(of request: FetchSpecification) throws -> DictionaryResults {
    let (specification, entity, stores) = try prepareDictionaries(request, .dictionaries)
    if stores.count > 1 { return try mergedDictionaries(specification, entity, stores) }
    let store = stores[0]
    let rows = try dictionaryRows(of: specification, from: store)
    return DictionaryResults(
      columns: rows.columns, rows: rows.rows.map { DictionaryResults.Row(space: store.space.number, values: $0) }, entity: entity,
      model: model)
  }

  func countDictionaries(_ request: FetchSpecification) throws -> Int {
    let (specification, entity, stores) = try prepareDictionaries(request, .count)
    if stores.count > 1 {
      var all = specification
      all.resultType = .dictionaries
      return try mergedDictionaries(all, entity, stores).rows.count
    }
    let store = stores[0]
    guard case .count(let count) = try rowSource.fetch(specification, from: store) else {
      throw unexpectedResult()
    }
    return count
  }

  private func prepareDictionaries(
    _ request: FetchSpecification, _ resultType: FetchResultType
  ) throws -> (FetchSpecification, CompiledEntity, [PersistentStore]) {
    var specification = request
    specification.resultType = resultType
    try prepareFetch()
    let entity = try entity(of: specification)
    try checkNoFiltering(of: specification)
    let stores = try rowSource.openStores(
      holding: entity, includesSubentities: specification.includesSubentities, affectedStores: specification.affectedStores, .fetch)
    return (specification, entity, stores)
  }

  private func dictionaryRows(of specification: FetchSpecification, from store: PersistentStore) throws -> DictionaryRows {
    guard case .dictionaries(let rows) = try rowSource.fetch(specification, from: store) else {
      throw unexpectedResult()
    }
    return rows
  }

  /// Throws if a request needs filtering in memory. The stores create dictionaries, so there are no objects to filter.
  private func checkNoFiltering(of specification: FetchSpecification) throws {
    guard specification.allowsInMemoryFiltering else { return }
    let filter = FetchSpecification(entityName: specification.entityName, predicate: specification.predicate)
    guard try FetchSplit(filter, model: model).isWhole else {
      throw FetchPredicateError.unsupported(
        part: "A block predicate or a transient property in a fetch of dictionaries",
        advice: "Stores make dictionaries, so there are no objects to filter. Fetch objects.")
    }
  }

  // MARK: Several stores

  /// Merges the rows of several stores in order, removes duplicates if requested, and applies the offset and the limit.
  private func mergedDictionaries(
    _ specification: FetchSpecification, _ entity: CompiledEntity, _ stores: [PersistentStore]
  ) throws -> DictionaryResults {
    let resolved = try FetchResolver(model: model).resolve(specification)
    if let projection = resolved.projection, projection.isGrouped {
      return windowed(
        specification, columns: projection.columns.map { DictionaryRows.Column($0) }, rows: try groups(specification, stores), entity)
    }
    let forEach = specification.forMerging(of: entity)
    var columns: [DictionaryRows.Column] = []
    var rows: [DictionaryResults.Row] = []
    for store in stores {
      let answer = try dictionaryRows(of: forEach, from: store)
      columns = answer.columns
      rows += answer.rows.map { DictionaryResults.Row(space: store.space.number, values: $0) }
    }
    let keys = resolved.sortKeys
    let count = columns.count - keys.count
    rows = rows.enumerated().sorted { left, right in
      for (index, key) in keys.enumerated() {
        let content = columns[count + index].content
        let order = SlotOrder.compare(
          sortValue(left.element.values[count + index], content), sortValue(right.element.values[count + index], content),
          by: key.order)
        if order != 0 { return key.isAscending ? order < 0 : order > 0 }
      }
      return left.offset < right.offset
    }.map { DictionaryResults.Row(space: $0.element.space, values: Array($0.element.values.prefix(count))) }
    columns.removeSubrange(count...)
    if specification.returnsDistinctResults {
      // Equal references from different stores identify different objects.
      let hasObjects = columns.contains { if case .object = $0.content { true } else { false } }
      var seen: Set<[Slot]> = []
      rows = rows.filter { seen.insert($0.values + (hasObjects ? [.int(Int64($0.space))] : [])).inserted }
    }
    return windowed(specification, columns: columns, rows: rows, entity)
  }

  private func windowed(
    _ specification: FetchSpecification, columns: [DictionaryRows.Column], rows: [DictionaryResults.Row], _ entity: CompiledEntity
  ) -> DictionaryResults {
    let start = min(max(specification.fetchOffset, 0), rows.count)
    let end = specification.fetchLimit > 0 ? start + min(specification.fetchLimit, rows.count - start) : rows.count
    return DictionaryResults(columns: columns, rows: Array(rows[start..<end]), entity: entity, model: model)
  }

  /// Returns the request for each store of a fetch with dictionary results from several stores.
  func mergeableDictionaries(_ specification: FetchSpecification) throws -> FetchSpecification {
    guard try FetchResolver(model: model).resolve(specification).projection?.isGrouped ?? false else {
      return specification.forMerging(of: try entity(of: specification))
    }
    return try GroupQuery(specification, model: model, sumsInStores: true).specification
  }

  /// Merges the groups of several stores, then applies the having predicate and the order.
  private func groups(_ specification: FetchSpecification, _ stores: [PersistentStore]) throws -> [DictionaryResults.Row] {
    func rows(sumsInStores: Bool) throws -> [DictionaryResults.Row] {
      let query = try GroupQuery(specification, model: model, sumsInStores: sumsInStores)
      var merger = GroupMerger(query)
      for store in stores { try merger.add(try dictionaryRows(of: query.specification, from: store), space: store.space.number) }
      return try merger.rows()
    }
    do { return try rows(sumsInStores: true) } catch is SumOverflow { return try rows(sumsInStores: false) }
  }

  /// Returns the value that a store sorts by: the key, if the value is an object.
  private func sortValue(_ value: Slot, _ content: DictionaryRows.Column.Content) -> Slot {
    guard case .object = content, case .int(let word) = value else { return value }
    return .int(ObjectReference(rawValue: word).key)
  }
}
