import ObjectStore

/// The keys that rows can have.
enum RowKey {
  /// Greater keys mean references of another kind (see `ObjectIDSpace`).
  static let greatest = (Int64(1) << 46) - 1

  /// Whether a number may be a row's key.
  @inline(__always) static func isKey(_ number: Int64) -> Bool {
    UInt64(bitPattern: number &- 1) < UInt64(bitPattern: greatest)
  }
}
