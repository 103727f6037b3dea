import SyncCore

extension SimulatedStore {
  /// Records the stamps of a held state that have become earlier.
  func noteRestamps(_ former: Record?, _ new: Record?) {
    guard let former, let new, former != new else { return }
    for (one, other) in zip(former.fields, new.fields) where one.property == other.property && one.stamp.device == other.stamp.device {
      if other.stamp.time < one.stamp.time { restamps.append((one.stamp, other.stamp)) }
    }
  }
}
