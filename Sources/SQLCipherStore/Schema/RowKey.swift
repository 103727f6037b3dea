import ObjectStore

/// The valid keys of rows.
enum RowKey {
  /// The greatest key of a row. Greater keys denote references of another kind (see `ObjectIDSpace`).
  static let maximum = (Int64(1) << 46) - 1

  @inline(__always) static func isKey(_ number: Int64) -> Bool {
    UInt64(bitPattern: number &- 1) < UInt64(bitPattern: maximum)
  }
}
