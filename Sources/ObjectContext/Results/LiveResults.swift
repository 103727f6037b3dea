import ObjectModel
import ObjectQuery
import ObjectStore

/// The results of a request, updated as objects change. It stores IDs and sort values but no objects.
final class LiveResults {
  let context: ManagedObjectContext
  let query: ResultsQuery
  let list: ResultList
  var names = SectionNames()
  /// Whether a result has a temporary ID because no permanent one could be obtained.
  private var hasTemporaryIDs = false
  /// The objects that remain registered for their unsaved changes after another context deleted their rows.
  private var keptAfterDeletion: Set<ManagedObjectID> = []

  init(_ query: ResultsQuery, in context: ManagedObjectContext) throws {
    self.context = context
    self.query = query
    list = ResultList(query.order, isSectioned: query.section != nil)
    let found = try find()
    try checkSections(found.sections)
    load(found)
  }

  // MARK: All results

  /// All results, as found by a fetch.
  struct Found {
    var ids: [ManagedObjectID] = []
    /// The sort values of all results, concatenated.
    var values: [Slot] = []
    /// The section numbers; empty if there are no sections.
    var sections: [Int32] = []
  }

  /// Fetches all results, in this list's order.
  func find() throws -> Found {
    hasTemporaryIDs = false
    let plan = try FetchMergePlan(query.specification, context: context)
    if let found = try findRows(plan) { return found }
    let objects = try context.settledObjects(of: query.specification)
    givePermanentIDs(to: objects)
    var found = Found()
    found.ids.reserveCapacity(objects.count)
    found.values.reserveCapacity(objects.count * query.order.keyCount)
    for object in objects {
      found.ids.append(object.currentID)
      found.values += try query.values(of: object)
      if query.section != nil { found.sections.append(names.number(of: try query.section(of: object))) }
    }
    return sorted(found)
  }

  /// Fetches all results without creating objects; nil unless a single store returns the results and their rows contain all needed values.
  private func findRows(_ plan: FetchMergePlan) throws -> Found? {
    guard let slots = query.storedSlots, plan.split == nil, !plan.needsMerging, query.section == nil || query.storedSection != nil,
      !(query.storedSection?.isTransient ?? false), !slots.contains(where: \.isTransient)
    else { return nil }
    let store = plan.stores[0]
    var specification = plan.storeSpecification
    // Reading rows in sorted order would access memory randomly. Read them in storage order, then sort the extracted values.
    if !query.hasWindow, let first = slots.first, query.order.hasWords(of: first.kind) { specification.sortDescriptors = [] }
    guard case .rows(let rows) = try context.rowSource.fetch(specification, from: store) else { return nil }
    let space = store.space.number
    var found = Found()
    found.ids.reserveCapacity(rows.count)
    if !query.hasWindow { found.values.reserveCapacity(rows.count * slots.count) }
    // After sorting, the results of a section are adjacent.
    let sortedSection =
      query.hasWindow ? nil : query.storedSection.flatMap { section in slots.firstIndex { $0.index == section.index } }
    var namer = SectionNamer(names, query.sectionType)
    defer { names = namer.names }
    for position in rows.indices {
      let reference = rows.reference(position)
      found.ids.append(ManagedObjectID(space: space, entityNumber: UInt32(reference.entity), key: reference.key))
      if !query.hasWindow {
        for slot in slots { found.values.append(try rows.slot(slot.index, kind: slot.kind, at: position)) }
      }
      if let slot = query.storedSection, sortedSection == nil {
        found.sections.append(namer.number(of: try rows.slot(slot.index, kind: slot.kind, at: position)))
      }
    }
    found = sorted(found)
    if let sortedSection {
      found.sections = stride(from: sortedSection, to: found.values.count, by: slots.count).map {
        namer.number(of: found.values[$0])
      }
    }
    return found
  }

  /// Assigns section numbers to consecutive results. Caches the last one.
  private struct SectionNamer {
    private(set) var names: SectionNames
    private let type: ResolvedType
    private var last: (value: Slot, number: Int32)?

    init(_ names: SectionNames, _ type: ResolvedType) { (self.names, self.type) = (names, type) }

    mutating func number(of value: Slot) -> Int32 {
      let value = ResultsQuery.sectionValue(value, type: type)
      if let last, last.value == value { return last.number }
      let number = names.number(of: value)
      last = (value, number)
      return number
    }
  }

  /// Sorts results in this list's order, which differs from a fetch's for unsaved objects among equal results.
  private func sorted(_ found: Found) -> Found {
    if query.hasWindow { return found }
    let width = query.order.keyCount
    guard let positions = query.order.positions(of: found.ids, found.values) else { return found }
    var result = Found()
    result.ids = positions.map { found.ids[$0] }
    result.values.reserveCapacity(found.values.count)
    for position in positions {
      for index in position * width..<(position + 1) * width { result.values.append(found.values[index]) }
    }
    if !found.sections.isEmpty { result.sections = positions.map { found.sections[$0] } }
    return result
  }

  func load(_ found: Found) {
    list.load(found.ids, values: found.values, sections: found.sections)
    var names = names
    for section in found.sections { names.add(1, to: section) }
    self.names = names
  }

  /// Throws unless the results of each section are adjacent.
  func checkSections(_ sections: [Int32]) throws(ResultsError) {
    var seen: Set<Int32> = []
    var last: Int32?
    for section in sections where section != last {
      last = section
      if !seen.insert(section).inserted { throw outOfOrder }
    }
  }

  var outOfOrder: ResultsError {
    .sectionsOutOfOrder(section: query.section.map { "\($0)" } ?? "", entity: query.entity.name)
  }

  /// Assigns permanent IDs to unsaved results, so that the ID of a result never changes.
  func givePermanentIDs(to objects: [ManagedObject]) {
    let new = objects.filter(\.currentID.isTemporaryID)
    if new.isEmpty { return }
    // If no IDs are available, the save reports the error.
    do { try context.obtainPermanentIDs(for: new) } catch { hasTemporaryIDs = true }
  }

  /// Returns whether an object remained registered only for its unsaved changes and has discarded them. Only the store can determine
  /// whether its row exists.
  ///
  /// - Parameter wasDeleted: Whether another context has just deleted its row.
  func isRemovedFromParent(_ object: ManagedObject, wasDeleted: Bool) -> Bool {
    if object.hasChanges {
      if wasDeleted { keptAfterDeletion.insert(object.currentID) }
      return false
    }
    return !keptAfterDeletion.isEmpty && keptAfterDeletion.remove(object.currentID) != nil
  }

  func name(ofSection number: Int32) -> String { query.section == nil ? "" : query.name(ofSection: names.value(of: number)) }

  // MARK: Changes

  /// Updates the results after changes.
  ///
  /// - Parameter willChange: Called before the results change, if they do.
  /// - Throws: The errors of reading values; ``ResultsError/sectionsOutOfOrder(section:entity:)``, after which the results are invalid.
  func update(by affected: AffectedResults, willChange: () -> Void) throws -> ResultsChange {
    if affected.isEmpty { return ResultsChange() }
    // With a limit or an offset, objects outside of the window are unknown and may be inside now.
    let isOtherWindow = query.hasWindow && (affected.hasRelevantChanges || affected.hasRelatedChanges)
    // Results with temporary IDs may have received permanent ones, which the changes use.
    if isOtherWindow || affected.isUnknown || hasTemporaryIDs {
      return try exchange(with: find(), affected, willChange: willChange)
    }
    return try apply(query.hasWindow ? affected.updates : ResultsEvaluator(affected, self).decisions(), willChange: willChange)
  }
}
