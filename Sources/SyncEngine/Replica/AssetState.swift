/// Where the value of an attribute with large values is.
public enum AssetState: Sendable, Hashable {
  /// The attribute has no value.
  case none
  /// The value is on the device. If it was saved here, the hub may not have it yet.
  case onDevice
  /// The hub has the value, and the device does not have it yet, or not anymore. The size is in bytes.
  case missing(size: Int64)
}
