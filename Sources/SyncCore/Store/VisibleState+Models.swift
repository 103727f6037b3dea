extension VisibleState {
  /// Makes all objects again from the states, because the model has changed.
  package func updateAll() throws {
    var last: RecordID?
    while true {
      let records = try store.records(after: last, maximumCount: batch)
      guard let final = records.last else { break }
      try update(records)
      last = final
    }
    // Records that only pending saves have.
    var unsent = RecordSet()
    try store.forEachChange(after: settledThrough, maximumCount: batch) { _, change in
      if try store.entry(of: change.id) == nil { unsent.insert(change.id) }
    }
    try update(unsent)
  }
}

extension VisibleState {
  /// Notes which attributes of an object functions could not merge.
  func noteUnmergedValues(of id: RecordID) throws {
    for value in try unmergedValues(of: id) { try store.noteUnmerged(value) }
  }

  /// Returns which attributes of an object functions could not merge.
  package func unmergedValues(of id: RecordID) throws -> [UnmergedValue] {
    guard let state = try state(of: id) else { return [] }
    return state.fields.compactMap { field in
      if field.rule != .custom { return nil }
      return model.mergeFailure(of: field, of: state.entity).map { UnmergedValue(id, state.entity, field.property, $0) }
    }
  }
}

extension SyncStore {
  /// Calls a closure with the changes of pending saves, which are read in batches.
  func forEachChange(
    after number: Int64, through end: Int64 = .max, maximumCount: Int, _ body: (PendingSave, PendingChange) throws -> Void
  ) throws {
    var last = number
    while true {
      let saves = try pendingSaves(after: last, maximumChangeCount: maximumCount)
      guard let final = saves.last else { return }
      for save in saves {
        if save.number > end { return }
        for change in save.changes { try body(save, change) }
        var position = save.changes.count
        while position < save.changeCount {
          let changes = try changes(of: save.number, from: position, maximumCount: maximumCount)
          if changes.isEmpty { break }
          position += changes.count
          for change in changes { try body(save, change) }
        }
      }
      last = final.number
    }
  }
}
