import Foundation
import ObjectModel

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
    let behind = position + 1 < list.count ? list.item(at: position + 1).section : nil
    if before == item.section || behind == item.section { return }
    if !isFirst || before != nil && before == behind { throw outOfOrder }
  }

  // MARK: Replacing all results

  /// Replaces all results and returns the resulting change.
  func exchange(with found: Found, _ affected: AffectedResults, willChange: () -> Void) throws(ResultsError) -> ResultsChange {
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
