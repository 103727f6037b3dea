/// What ``PersistentCloudContainer/initializeSchema(options:)`` does.
public struct CloudSchemaOptions: OptionSet, Sendable, Hashable {
  /// The bits of the options.
  public let rawValue: UInt

  /// Creates options from their bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// Checks the model without changing anything. A hub has no schema, because its records are sealed, so this holds without the option, too.
  public static let dryRun = CloudSchemaOptions(rawValue: 1 << 1)
  /// Prints to standard output how each property is merged, what stands in the way, and what may surprise.
  public static let printSchema = CloudSchemaOptions(rawValue: 1 << 2)
}
