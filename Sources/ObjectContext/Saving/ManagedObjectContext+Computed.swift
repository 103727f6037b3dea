// ManagedObjectContext+Computed: values that a store has computed come into the registered objects, right after the save.
import ObjectModel
import ObjectStore

extension ManagedObjectContext {
  /// Registered objects take what the stores have computed beside what was saved. Objects whose rows the stores did not give are read, all at once.
  ///
  /// - Returns: The objects that have new values.
  func takeComputedValues(of parts: [SavedPart]) -> [ManagedObject] {
    var refreshed: [ManagedObject] = []
    for part in parts where !part.outcome.isEmpty {
      let space = part.store.space.number
      for row in part.outcome.refreshed {
        guard let object = registeredObject(row.reference, space: space) else { continue }
        object.takeComputedRow(row)
        refreshed.append(object)
      }
      let outdated = part.outcome.outdated.compactMap { registeredObject($0, space: space) }
      refresh(outdated, in: part.store, keepsVersions: true)
      refreshed += outdated
    }
    return refreshed
  }
}

extension ManagedObject {
  /// Takes a row of which nothing but computed values is new, unless somebody else has saved the object too.
  final func takeComputedRow(_ row: RowImage) {
    guard let image, !flags.contains(.isPartial) else {
      // A fault gets its row when it is asked for.
      if flags.contains(.isFault) { return forgetPartialRow() }
      return takeFreshRow(row)
    }
    if flags.contains(.isFault) {
      self.image = row
    } else if image.version == row.version {
      self.image = row
      updatePlainRow()
    } else {
      takeFreshRow(row)
    }
  }
}
