/// Which large values of other devices are downloaded. Values that were saved on the device stay on it, unless a budget removes them.
public enum AssetPolicy: Sendable, Hashable {
  /// All, as soon as the records that contain them have arrived.
  case eager
  /// Only those that the application requests.
  case onDemand
  /// Those that were saved or requested last, up to a total size in bytes. What the device has beyond that is removed from it, if the hub has
  /// it.
  case budget(bytes: Int64)
}
