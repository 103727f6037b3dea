// PersistentStoreDescription+Options: a description out of a dictionary of options, as the class of its store has them.
public import Foundation

extension PersistentStoreDescription {
  /// Describes a store by a dictionary of options, for example out of a configuration file. Their names are those of the description's
  /// properties.
  ///
  /// - Parameters:
  ///   - type: The kind of store, whose class says which options it has.
  ///   - url: Where the store is; nil for stores without a file.
  ///   - options: The options by name.
  /// - Throws: ``StoreError`` with ``StoreError/Code/invalidOption`` where the store has no option of the name, as it has none of Core Data's names, or a value
  ///   has another type; with ``StoreError/Code/unknownStoreType`` where nothing is registered for the type.
  public init(type: StoreType, url: URL? = nil, options: [String: any Sendable]) throws(StoreError) {
    self.init(type: type, url: url)
    guard let storeClass = PersistentStoreCoordinator.registeredStoreTypes[type] else {
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
