/// How concurrent changes of an attribute on several devices are merged by synchronization.
///
/// Changes are concurrent if the devices made them without having received each other's. Every rule leads to the same value on all devices,
/// whatever the order in which they receive the changes.
///
/// ```swift
/// Attribute("votes", .integer64).required().initially(0).syncMergeRule(.counter)
/// ```
///
/// In a model file, the raw value is the entry `syncMergeRule` in the attribute's user info: the name of the case, or `custom:` and the name
/// of a function. A change of the rule does not change the version hash, so that stores stay compatible. A model is invalid if an attribute's
/// type does not support its rule, or if the attribute is derived or transient.
public enum SyncMergeRule: Sendable, Hashable {
  /// The value of the latest change remains. The default, for all types.
  case latest
  /// The first value other than nil remains. For all types except composites, whose parts have rules of their own.
  case firstWriter
  /// The greatest value remains; nil is less than every value. For numbers, dates and strings, which are compared by their UTF-8 bytes.
  case max
  /// The least value remains; nil is ignored. For numbers, dates and strings, which are compared by their UTF-8 bytes.
  case min
  /// The bits of all values remain, as in the union of option sets. For integers.
  case union
  /// The changes are added up: what a save adds to or subtracts from the value is the change, and nil counts as 0. For integers, doubles and
  /// floats.
  case counter
  /// A function of the application merges the values, which it has registered under a name with ``SyncMergeFunctions``. For all types
  /// except composites, whose parts have rules of their own, and not for attributes that allow external storage.
  case custom(String)

  /// The key of the rule in an attribute's user info.
  static let userInfoKey = "syncMergeRule"

  /// Returns whether attributes of a type can have the rule.
  func supports(_ type: AttributeType) -> Bool {
    switch self {
    case .latest: true
    case .firstWriter, .custom: type != .composite
    case .max, .min: type.isNumeric || type == .date || type == .string
    case .union: type.isInteger
    case .counter: type.isInteger || type == .double || type == .float
    }
  }
}

extension SyncMergeRule: RawRepresentable, CaseIterable {
  /// The rules of the library: all but ``custom(_:)``.
  public static let allCases: [SyncMergeRule] = [.latest, .firstWriter, .max, .min, .union, .counter]

  private static let customPrefix = "custom:"

  /// Creates the rule of an entry in the user info; nil if the entry is not a rule.
  public init?(rawValue: String) {
    if rawValue.hasPrefix(Self.customPrefix), rawValue != Self.customPrefix {
      self = .custom(String(rawValue.dropFirst(Self.customPrefix.count)))
    } else if let rule = Self.allCases.first(where: { $0.rawValue == rawValue }) {
      self = rule
    } else {
      return nil
    }
  }

  /// The rule as an entry in the user info.
  public var rawValue: String {
    switch self {
    case .latest: "latest"
    case .firstWriter: "firstWriter"
    case .max: "max"
    case .min: "min"
    case .union: "union"
    case .counter: "counter"
    case .custom(let name): Self.customPrefix + name
    }
  }
}

extension AttributeDescription {
  /// How concurrent changes of the attribute on several devices are merged by synchronization.
  ///
  /// Stored in ``userInfo`` under the key `syncMergeRule`; no entry is the rule `latest`. Validation reports an entry that is not a rule.
  public var syncMergeRule: SyncMergeRule {
    get { userInfo[SyncMergeRule.userInfoKey].flatMap { SyncMergeRule(rawValue: $0) } ?? .latest }
    set { userInfo[SyncMergeRule.userInfoKey] = newValue == .latest ? nil : newValue.rawValue }
  }
}
