/// The rules for names of entities and properties.
enum ModelNames {
  /// Methods without arguments of Core Data's managed objects and of `NSObject`. Core Data rejects properties with these names.
  static let reservedPropertyNames: Set<String> = [
    // ManagedObject
    "objectID", "entity", "managedObjectContext", "hasChanges", "hasPersistentChangedValues", "isInserted", "isUpdated", "isDeleted",
    "isFault", "faultingState", "changedValues", "changedValuesForCurrentEvent", "awakeFromInsert", "awakeFromFetch", "willSave", "didSave",
    "prepareForDeletion", "willTurnIntoFault", "didTurnIntoFault",
    // NSObject
    "description", "debugDescription", "hash", "class", "superclass", "self", "init", "copy", "mutableCopy", "zone", "isProxy", "retain",
    "release", "autorelease", "retainCount", "dealloc", "observationInfo",
  ]

  /// Returns why an entity name is invalid; nil if it is valid.
  static func problem(ofEntity name: String) -> String? {
    if name.isEmpty { return "an entity needs a name" }
    return hasControlCharacters(name) ? "the entity's name has a control character; remove it" : nil
  }

  /// Returns why a property name is invalid; nil if it is valid. SQL keywords, quotes, spaces and letters of all scripts are valid.
  static func problem(ofProperty name: String) -> String? {
    if name.isEmpty { return "a property needs a name" }
    if hasControlCharacters(name) { return "the property's name has a control character; remove it" }
    if name.utf8.contains(UInt8(ascii: ".")) { return "a property's name may not contain a dot, which separates the parts of key paths" }
    if name.utf8.first == UInt8(ascii: "@") { return "a property's name may not begin with @, which begins the functions of key paths" }
    if reservedPropertyNames.contains(name) { return "'\(name)' is a member of every managed object; choose another name" }
    return nil
  }

  static func hasControlCharacters(_ name: String) -> Bool {
    name.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F || $0.value == 0xFFFE || $0.value == 0xFFFF }
  }
}
