public import Foundation

extension PersistentStoreDescription {
  /// Creates a description from a dictionary of options, such as a configuration file. The names of options are those of the description's
  /// properties.
  ///
  /// - Parameters:
  ///   - type: The type of the store, whose class defines the available options.
  ///   - url: The location of the store, or nil for stores without a file.
  ///   - options: The options by name.
  /// - Throws: ``StoreError`` with ``StoreError/Code/invalidOption`` if an option is unknown (including Core Data's option names) or its
  ///   value is of another type; with ``StoreError/Code/unknownStoreType`` if no class is registered for the type.
  public init(type: StoreType, url: URL? = nil, options: [String: any Sendable]) throws(StoreError) {
    self.init(type: type, url: url)
    guard let storeClass = PersistentStoreCoordinator.storeClass(of: type) else {
      throw PersistentStoreCoordinator.unknownType(self)
    }
    let settings = Dictionary((Self.commonSettings + storeClass.settings).map { ($0.name, $0) }, uniquingKeysWith: { $1 })
    for (name, value) in options.sorted(by: { $0.key < $1.key }) {
      guard let setting = settings[name] else {
        let reason =
          CoreDataOption(rawValue: name).map { StoreError.Reason.coreDataOption(name, counterpart: $0.counterpart) }
          ?? .unknownOption(name, type: type.rawValue, known: Array(settings.keys))
        throw StoreError(reason, operation: .open, path: url?.path)
      }
      if !setting.apply(value, &self) {
        throw StoreError(
          .optionOfAnotherType(name, expected: setting.typeName, found: "\(Swift.type(of: value))"), operation: .open, path: url?.path)
      }
    }
  }
}
