import Foundation
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
    assignPermanentIDs(to: objects)
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
  func assignPermanentIDs(to objects: [ManagedObject]) {
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
      return try replaceAll(with: find(), affected, willChange: willChange)
    }
    return try apply(query.hasWindow ? affected.updates : ResultsEvaluator(affected, self).decisions(), willChange: willChange)
  }
}

// MARK: - Applying changes

extension LiveResults {
  /// A kept result that is removed from the list and inserted again.
  private struct Placed {
    let id: ManagedObjectID
    let oldPosition: Int
    let oldPath: IndexPath
    let isUpdated: Bool
    let hasOtherChanges: Bool
    /// The number of results before it that are not removed and inserted again: in the old list, and in the new one.
    let oldGap: Int
    var newGap = -1
    let oldSection: Int32
    var newSection: Int32 = 0
    var newPath = IndexPath()
  }

  private func path(_ position: Int) -> IndexPath {
    let (section, item) = list.path(ofPosition: position)
    return IndexPath(indexes: [section, item])
  }

  /// Applies decisions to the list and returns the resulting change.
  ///
  /// - Complexity: O(*m* log *n*) for *m* decisions and *n* results.
  func apply(_ decisions: [ResultsDecision], willChange: () -> Void) throws(ResultsError) -> ResultsChange {
    var leaving: [(position: Int, item: ResultItem, decision: ResultsDecision)] = []
    var arriving: [ResultItem] = []
    var staying: [(id: ManagedObjectID, path: IndexPath, decision: ResultsDecision)] = []
    for decision in decisions {
      let position = list.position(of: decision.id)
      switch (decision.outcome, position) {
      case (.none, nil), (.unchanged, nil): break
      case (.result(let item), nil): arriving.append(item)
      case (.none, let position?): leaving.append((position, list.item(at: position), decision))
      case (.unchanged, let position?): staying.append((decision.id, path(position), decision))
      case (.result(let item), let position?):
        let former = list.item(at: position)
        if former != item {
          leaving.append((position, former, decision))
          arriving.append(item)
        } else if decision.isUpdated {
          staying.append((decision.id, path(position), decision))
        }
      }
    }
    var change = ResultsChange()
    if leaving.isEmpty, arriving.isEmpty, staying.isEmpty { return change }
    willChange()

    // Remove.
    leaving.sort { $0.position < $1.position }
    var placed: [ManagedObjectID: Placed] = [:]
    var left: [Int32: Int] = [:]
    for (index, (position, item, decision)) in leaving.enumerated() {
      let path = path(position)
      left[item.section] = path[0]
      guard case .result(let next) = decision.outcome else {
        change.removed.append(ResultsChange.Item(indexPath: path, objectID: item.id))
        continue
      }
      placed[item.id] = Placed(
        id: item.id, oldPosition: position, oldPath: path, isUpdated: decision.isUpdated, hasOtherChanges: decision.hasOtherChanges,
        oldGap: position - index, oldSection: item.section, newSection: next.section)
    }
    for (_, item, _) in leaving {
      list.remove(item.id)
      if query.section != nil { names.add(-1, to: item.section) }
    }
    let vanished = query.section == nil ? [:] : left.filter { names.count(of: $0.key) == 0 }

    // Insert in ascending order.
    arriving.sort { query.order.compare($0.values[...], $0.id, $1.values[...], $1.id) < 0 }
    var appeared: Set<Int32> = []
    for item in arriving {
      let position = list.insert(item)
      if query.section == nil { continue }
      if names.count(of: item.section) == 0 { appeared.insert(item.section) }
      try checkPosition(of: item, at: position, isFirst: names.count(of: item.section) == 0)
      names.add(1, to: item.section)
    }

    // A section that was empty only temporarily has kept its position if the order determines the positions of sections.
    let same = query.sortsSections ? appeared.intersection(vanished.keys) : []
    let removedSections = vanished.filter { !same.contains($0.key) }
    let insertedSections = appeared.subtracting(same)
    change.removedSections = removedSections.map { ResultsChange.Section(index: $0.value, name: name(ofSection: $0.key)) }
      .sorted { $0.index < $1.index }

    // Compute the new index paths.
    var sectionIndexes: [Int32: Int] = [:]
    for (index, item) in arriving.enumerated() {
      guard let position = list.position(of: item.id) else { continue }
      let path = path(position)
      sectionIndexes[item.section] = path[0]
      if placed[item.id] == nil {
        change.inserted.append(ResultsChange.Item(indexPath: path, objectID: item.id))
      } else {
        placed[item.id]?.newPath = path
        placed[item.id]?.newGap = position - index
      }
    }
    change.insertedSections = insertedSections.compactMap { section in
      sectionIndexes[section].map { ResultsChange.Section(index: $0, name: name(ofSection: section)) }
    }.sorted { $0.index < $1.index }
    let others = Set(removedSections.keys).union(insertedSections)
    recordChanges(arriving.compactMap { placed[$0.id] }, notIn: others, &change)
    for (id, path, decision) in staying {
      guard let position = list.position(of: id) else { continue }
      change.updated.append(
        ResultsChange.ChangedItem(oldIndexPath: path, newIndexPath: self.path(position), objectID: id, isUpdated: decision.isUpdated))
    }
    change.updated.sort { $0.newIndexPath < $1.newIndexPath }
    if query.section != nil { names.forgetEmpty(left.keys) }
    return change
  }

  /// Classifies kept results as moved or updated, with as few moves as possible.
  ///
  /// - Parameters:
  ///   - placed: The kept results, in the order of the new list.
  ///   - sections: The sections that were removed or inserted. Their results always count as moved.
  private func recordChanges(_ placed: [Placed], notIn sections: Set<Int32>, _ change: inout ResultsChange) {
    let mayStay = placed.map { $0.oldGap == $0.newGap && $0.oldSection == $0.newSection && !sections.contains($0.newSection) }
    // Results in the same gap between unaffected results stay only if they keep their relative order. Gaps are ordered already.
    let run = LongestIncreasingSubsequence.members(of: placed.indices.filter { mayStay[$0] }.map { placed[$0].oldPosition })
    var next = 0
    for (index, result) in placed.enumerated() {
      var stays = false
      if mayStay[index] {
        stays = run[next]
        next += 1
      }
      let kept = ResultsChange.ChangedItem(
        oldIndexPath: result.oldPath, newIndexPath: result.newPath, objectID: result.id,
        isUpdated: stays ? result.isUpdated : result.hasOtherChanges)
      if stays { change.updated.append(kept) } else { change.moved.append(kept) }
    }
  }

  /// Throws if an inserted result is located within another section, or apart from its own section.
  private func checkPosition(of item: ResultItem, at position: Int, isFirst: Bool) throws(ResultsError) {
    if query.sortsSections { return }
    let before = position > 0 ? list.item(at: position - 1).section : nil
    let after = position + 1 < list.count ? list.item(at: position + 1).section : nil
    if before == item.section || after == item.section { return }
    if !isFirst || before != nil && before == after { throw outOfOrder }
  }

  // MARK: Replacing all results

  /// Replaces all results and returns the resulting change.
  func replaceAll(with found: Found, _ affected: AffectedResults, willChange: () -> Void) throws(ResultsError) -> ResultsChange {
    if query.section != nil { try checkSections(found.sections) }
    let oldIDs = list.ids(in: 0..<list.count)
    let oldSections = sectionsInOrder()
    let oldPaths = (0..<list.count).map(path)
    let oldNumbers = query.section == nil ? [] : oldPaths.map { oldSections[$0[0]] }
    if oldIDs == found.ids, oldNumbers == found.sections, !oldIDs.contains(where: affected.isUpdated) {
      // Sort values may have changed even if the order has not.
      list.load(found.ids, values: found.values, sections: found.sections)
      return ResultsChange()
    }
    willChange()
    let oldPositions = Dictionary(uniqueKeysWithValues: oldIDs.enumerated().map { ($1, $0) })
    for section in oldNumbers { names.add(-1, to: section) }
    load(found)
    let newSections = sectionsInOrder()
    var change = ResultsChange()

    // The sections that have kept their relative order.
    let positions = Dictionary(uniqueKeysWithValues: oldSections.enumerated().map { ($1, $0) })
    let common = newSections.filter { positions[$0] != nil }
    let run = LongestIncreasingSubsequence.members(of: common.compactMap { positions[$0] })
    let same = Set(zip(common, run).filter(\.1).map(\.0))
    change.removedSections = oldSections.enumerated().filter { !same.contains($1) }
      .map { ResultsChange.Section(index: $0, name: name(ofSection: $1)) }
    change.insertedSections = newSections.enumerated().filter { !same.contains($1) }
      .map { ResultsChange.Section(index: $0, name: name(ofSection: $1)) }

    let kept = Set(found.ids)
    for (position, id) in oldIDs.enumerated() where !kept.contains(id) {
      change.removed.append(ResultsChange.Item(indexPath: oldPaths[position], objectID: id))
    }
    var placed: [Placed] = []
    for (position, id) in found.ids.enumerated() {
      let path = path(position)
      guard let old = oldPositions[id] else {
        change.inserted.append(ResultsChange.Item(indexPath: path, objectID: id))
        continue
      }
      var result = Placed(
        id: id, oldPosition: old, oldPath: oldPaths[old], isUpdated: affected.isUpdated(id), hasOtherChanges: affected.hasOtherChanges(id),
        oldGap: 0, oldSection: query.section == nil ? 0 : oldNumbers[old])
      result.newGap = 0
      result.newSection = query.section == nil ? 0 : found.sections[position]
      result.newPath = path
      placed.append(result)
    }
    recordChanges(placed, notIn: Set(oldSections + newSections).subtracting(same), &change)
    change.updated.removeAll { !$0.isUpdated }
    names.forgetEmpty(oldNumbers)
    return change
  }

  /// Returns the numbers of the sections, in order; the number of the single section if there are no section names.
  func sectionsInOrder() -> [Int32] { (0..<list.sectionCount).map(list.name(ofSection:)) }
}

/// The longest increasing subsequence, which determines the elements that can stay while others move.
enum LongestIncreasingSubsequence {
  /// Returns, for each of several distinct numbers, whether it belongs to the longest increasing subsequence.
  ///
  /// - Complexity: O(*n* log *n*).
  static func members(of numbers: [Int]) -> [Bool] {
    var isMember = [Bool](repeating: false, count: numbers.count)
    // Usually the order has not changed.
    if zip(numbers, numbers.dropFirst()).allSatisfy({ $0 < $1 }) { return isMember.map { _ in true } }
    var ends: [Int] = []
    var before = [Int](repeating: -1, count: numbers.count)
    for index in numbers.indices {
      var (low, high) = (0, ends.count)
      while low < high {
        let middle = (low + high) / 2
        if numbers[ends[middle]] < numbers[index] { low = middle + 1 } else { high = middle }
      }
      before[index] = low > 0 ? ends[low - 1] : -1
      if low == ends.count { ends.append(index) } else { ends[low] = index }
    }
    var index = ends.last ?? -1
    while index >= 0 {
      isMember[index] = true
      index = before[index]
    }
    return isMember
  }
}
