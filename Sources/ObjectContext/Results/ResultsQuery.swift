import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore

/// A resolved request whose results are kept up to date: its predicate, sort keys, and section names.
struct ResultsQuery {
  let specification: FetchSpecification
  let entity: CompiledEntity
  /// The section name expression; nil for no sections.
  let section: FetchExpression?
  let order: ResultOrder
  let dependencies: FetchDependencies
  /// The results' own attributes and to-one relationships that determine their order and section names.
  let orderingSlots: SlotMask
  /// Whether the order keeps the results of each section together for all values.
  let sortsSections: Bool
  /// The slots of the sort values; nil unless all of them are attributes of the results.
  let storedSlots: [CompiledSlot]?
  /// The slot of the section name; nil unless it is an attribute of the results.
  let storedSection: CompiledSlot?
  private let numbers: Range<Int>
  private let spaces: Set<UInt32>?
  private let keys: [ResolvedSortKey]
  private let sectionKey: ResolvedSortKey?
  private let matching: PredicateEvaluator<ManagedObjectResolver>
  private let sectionNaming: PredicateEvaluator<ManagedObjectResolver>?

  init(_ request: FetchSpecification, section: FetchExpression?, in context: ManagedObjectContext) throws {
    let name = request.entityName
    if request.resultType == .dictionaries { throw ResultsError.dictionaryResults(entity: name) }
    if !request.includesPendingChanges { throw ResultsError.pendingChangesExcluded(entity: name) }
    guard let firstKey = request.sortDescriptors.first else { throw ResultsError.noSortDescriptors(entity: name) }
    try request.checkNumbers()
    let entity = try context.entity(of: request)
    var specification = request
    // Only the rows of results are needed.
    specification.resultType = .objects
    specification.fetchBatchSize = 0
    specification.includesPropertyValues = true
    specification.propertiesToFetch = []
    specification.returnsObjectsAsFaults = true
    let resolver = FetchResolver(model: context.model, transientKeys: request.allowsInMemoryFiltering ? .allowed : .refused)
    let fetch = try resolver.resolve(specification)
    var dependencies = FetchDependencies(of: entity, model: context.model)
    for key in fetch.sortKeys { dependencies.add(key.expression) }
    // Section names are evaluated on objects, so they can use transient properties that stores do not have.
    let naming = try section.map {
      try FetchResolver(model: context.model, transientKeys: .allowed).resolve(
        nil, sortDescriptors: [FetchSortDescriptor(expression: $0)], entity: entity)
    }
    if let section, let key = naming?.sortKeys.first {
      guard ![.object, .entity, .opaque].contains(key.expression.type) else {
        throw ResultsError.sectionWithoutName(section: "\(section)", entity: name)
      }
      dependencies.add(key.expression)
    }
    orderingSlots = dependencies.own.slots
    // Prefetch the related objects that the order depends on.
    specification.relationshipKeyPathsForPrefetching = dependencies.paths
    dependencies.add(fetch.predicate)
    self.specification = specification
    self.entity = entity
    self.section = section
    self.dependencies = dependencies
    keys = fetch.sortKeys
    // With a limit or an offset, keep the order of the fetch.
    order = ResultOrder(request.fetchLimit > 0 || request.fetchOffset > 0 ? [] : fetch.sortKeys)
    sectionKey = naming?.sortKeys.first
    sortsSections = firstKey.expression == section
    storedSlots = Self.slots(of: fetch.sortKeys)
    storedSection = (naming.map { Self.slots(of: $0.sortKeys) } ?? nil)?.first
    numbers = specification.includesSubentities ? entity.subtree : entity.number..<entity.number + 1
    spaces = try request.affectedStores.map { _ in
      Set(
        try context.rowSource.openStores(
          holding: entity, includesSubentities: request.includesSubentities, affectedStores: request.affectedStores, .fetch
        ).map(\.space.number))
    }
    matching = PredicateEvaluator(fetch, resolver: ManagedObjectResolver())
    sectionNaming = naming.map { PredicateEvaluator($0, resolver: ManagedObjectResolver()) }
  }

  /// Returns the slots of sort keys; nil unless all keys are attributes of the objects themselves.
  private static func slots(of keys: [ResolvedSortKey]) -> [CompiledSlot]? {
    var slots: [CompiledSlot] = []
    for key in keys {
      guard case .path(let path) = key.expression, path.scope == 0, path.steps.isEmpty, case .attribute(let attribute) = path.terminal
      else { return nil }
      slots.append(attribute.slot)
    }
    return slots
  }

  /// Whether the request has a limit or an offset.
  var hasWindow: Bool { specification.fetchLimit > 0 || specification.fetchOffset > 0 }

  func mayInclude(_ entityNumber: Int) -> Bool { numbers.contains(entityNumber) }

  /// Returns whether the request includes an object's store.
  func includesStore(_ object: ManagedObject, in context: ManagedObjectContext) -> Bool {
    spaces?.contains(context.space(of: object)) ?? true
  }

  /// Returns whether an object matches the predicate, including unsaved changes.
  func isMet(by object: ManagedObject) throws -> Bool { try matching.matches(object) }

  func values(of object: ManagedObject) throws -> [Slot] {
    if hasWindow { return [] }
    if let storedSlots { return try storedSlots.map { try object.readSlotValue($0.index) } }
    return try keys.map { try matching.value(of: $0.expression, for: object) }
  }

  /// Returns the value that names an object's section; null if there are no sections.
  func section(of object: ManagedObject) throws -> Slot {
    guard let sectionKey, let sectionNaming else { return .null }
    return Self.sectionValue(try sectionNaming.value(of: sectionKey.expression, for: object), type: sectionKey.expression.type)
  }

  /// Normalizes a section value. Objects with a missing text and those with an empty text share one section, because they are adjacent and
  /// their section names are equal.
  static func sectionValue(_ value: Slot, type: ResolvedType) -> Slot {
    if SlotComparison.isMissing(value) { return type == .text ? .text("") : .null }
    return value
  }

  /// The type of the section name expression.
  var sectionType: ResolvedType { sectionKey?.expression.type ?? .text }

  /// Returns the name of a section: its value as text.
  func name(ofSection value: Slot) -> String {
    switch (value, sectionType) {
    case (.null, _): ""
    case (.text(let text), _): text
    case (.int(let number), .boolean): number == 0 ? "false" : "true"
    case (.int(let number), _): "\(number)"
    case (.real(let seconds), .date): "\(Date(timeIntervalSinceReferenceDate: seconds))"
    case (.real(let number), _): "\(number)"
    case (.bytes(let bytes), .decimal): SlotComparison.decimal(of: .bytes(bytes)).map { "\($0)" } ?? ""
    case (.bytes(let bytes), .uuid): bytes.count == 16 ? Self.uuid(bytes) : ""
    case (.bytes(let bytes), _): bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
  }

  private static func uuid(_ bytes: Data) -> String {
    bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)).uuidString }
  }
}

/// Maps the values that name sections to small numbers, and counts the results of each section. The numbers of empty sections are reused.
struct SectionNames {
  private var numbers: [Slot: Int32] = [:]
  private var values: [Slot] = []
  private var counts: [Int] = []
  private var unused: [Int32] = []

  /// Returns the number of a value. It counts as unused until results are added.
  mutating func number(of value: Slot) -> Int32 {
    if let number = numbers[value] { return number }
    let number = unused.popLast() ?? Int32(values.count)
    if Int(number) == values.count {
      values.append(value)
      counts.append(0)
    } else {
      values[Int(number)] = value
    }
    numbers[value] = number
    return number
  }

  func value(of number: Int32) -> Slot { values[Int(number)] }

  func count(of number: Int32) -> Int { counts[Int(number)] }

  mutating func add(_ difference: Int, to number: Int32) { counts[Int(number)] += difference }

  /// Releases the numbers of empty sections.
  mutating func forgetEmpty(_ candidates: some Sequence<Int32>) {
    for number in candidates where counts[Int(number)] == 0 && numbers[values[Int(number)]] == number {
      numbers[values[Int(number)]] = nil
      values[Int(number)] = .null
      unused.append(number)
    }
  }
}
