// ErrorCodes: the numbers of Core Data's errors.
public import Foundation

/// A value is not valid.
public var NSManagedObjectValidationError: Int { 1550 }
/// A unique value is taken.
public var NSManagedObjectConstraintValidationError: Int { 1551 }
/// Several objects cannot be saved: the errors are under ``NSDetailedErrorsKey``.
public var NSValidationMultipleErrorsError: Int { 1560 }
/// A required value is missing.
public var NSValidationMissingMandatoryPropertyError: Int { 1570 }
/// A relationship has too few objects.
public var NSValidationRelationshipLacksMinimumCountError: Int { 1580 }
/// A relationship has too many objects.
public var NSValidationRelationshipExceedsMaximumCountError: Int { 1590 }
/// A delete rule denies a deletion.
public var NSValidationRelationshipDeniedDeleteError: Int { 1600 }
/// A number is too large.
public var NSValidationNumberTooLargeError: Int { 1610 }
/// A number is too small.
public var NSValidationNumberTooSmallError: Int { 1620 }
/// A date is too late.
public var NSValidationDateTooLateError: Int { 1630 }
/// A date is too soon.
public var NSValidationDateTooSoonError: Int { 1640 }
/// A date is none.
public var NSValidationInvalidDateError: Int { 1650 }
/// A text is too long.
public var NSValidationStringTooLongError: Int { 1660 }
/// A text is too short.
public var NSValidationStringTooShortError: Int { 1670 }
/// A text does not match its pattern.
public var NSValidationStringPatternMatchingError: Int { 1680 }
/// A URI is none.
public var NSValidationInvalidURIError: Int { 1690 }
/// A context could not be locked.
public var NSManagedObjectContextLockingError: Int { 132_000 }
/// A coordinator could not be locked.
public var NSPersistentStoreCoordinatorLockingError: Int { 132_010 }
/// The row of an object is gone.
public var NSManagedObjectReferentialIntegrityError: Int { 133_000 }
/// An object of another store is referred to.
public var NSManagedObjectExternalRelationshipError: Int { 133_010 }
/// A row was changed by others.
public var NSManagedObjectMergeError: Int { 133_020 }
/// A unique value is taken.
public var NSManagedObjectConstraintMergeError: Int { 133_021 }
/// There are no stores of a type.
public var NSPersistentStoreInvalidTypeError: Int { 134_000 }
/// A store is of another type.
public var NSPersistentStoreTypeMismatchError: Int { 134_010 }
/// A store has another schema.
public var NSPersistentStoreIncompatibleSchemaError: Int { 134_020 }
/// A store could not be saved to.
public var NSPersistentStoreSaveError: Int { 134_030 }
/// Some stores could not be saved to.
public var NSPersistentStoreIncompleteSaveError: Int { 134_040 }
/// A save has conflicts.
public var NSPersistentStoreSaveConflictsError: Int { 134_050 }
/// Something is wrong that has no number of its own.
public var NSCoreDataError: Int { 134_060 }
/// A store's work has failed.
public var NSPersistentStoreOperationError: Int { 134_070 }
/// The store cannot be opened.
public var NSPersistentStoreOpenError: Int { 134_080 }
/// Others kept a store for too long.
public var NSPersistentStoreTimeoutError: Int { 134_090 }
/// A store does not know a request.
public var NSPersistentStoreUnsupportedRequestTypeError: Int { 134_091 }
/// The store was made with another model.
public var NSPersistentStoreIncompatibleVersionHashError: Int { 134_100 }
/// A migration has failed.
public var NSMigrationError: Int { 134_110 }
/// A migration would store a unique value twice.
public var NSMigrationConstraintViolationError: Int { 134_111 }
/// A migration was called off.
public var NSMigrationCancelledError: Int { 134_120 }
/// The model of a store is not known.
public var NSMigrationMissingSourceModelError: Int { 134_130 }
/// No way to the model is known.
public var NSMigrationMissingMappingModelError: Int { 134_140 }
/// The store that is migrated has failed.
public var NSMigrationManagerSourceStoreError: Int { 134_150 }
/// The store that is migrated to has failed.
public var NSMigrationManagerDestinationStoreError: Int { 134_160 }
/// A migration's policy has failed.
public var NSEntityMigrationPolicyError: Int { 134_170 }
/// The database has failed.
public var NSSQLiteError: Int { 134_180 }
/// The way to the model cannot be inferred.
public var NSInferredMappingModelError: Int { 134_190 }
/// A record could not be imported.
public var NSExternalRecordImportError: Int { 134_200 }
/// A place in the history is gone.
public var NSPersistentHistoryTokenExpiredError: Int { 134_301 }

extension CocoaError.Code {
  /// A value is not valid.
  public static var managedObjectValidation: CocoaError.Code { CocoaError.Code(rawValue: NSManagedObjectValidationError) }
  /// A unique value is taken.
  public static var managedObjectConstraintValidation: CocoaError.Code {
    CocoaError.Code(rawValue: NSManagedObjectConstraintValidationError)
  }
  /// Several objects cannot be saved: the errors are under ``NSDetailedErrorsKey``.
  public static var validationMultipleErrors: CocoaError.Code { CocoaError.Code(rawValue: NSValidationMultipleErrorsError) }
  /// A required value is missing.
  public static var validationMissingMandatoryProperty: CocoaError.Code {
    CocoaError.Code(rawValue: NSValidationMissingMandatoryPropertyError)
  }
  /// A relationship has too few objects.
  public static var validationRelationshipLacksMinimumCount: CocoaError.Code {
    CocoaError.Code(rawValue: NSValidationRelationshipLacksMinimumCountError)
  }
  /// A relationship has too many objects.
  public static var validationRelationshipExceedsMaximumCount: CocoaError.Code {
    CocoaError.Code(rawValue: NSValidationRelationshipExceedsMaximumCountError)
  }
  /// A delete rule denies a deletion.
  public static var validationRelationshipDeniedDelete: CocoaError.Code {
    CocoaError.Code(rawValue: NSValidationRelationshipDeniedDeleteError)
  }
  /// A number is too large.
  public static var validationNumberTooLarge: CocoaError.Code { CocoaError.Code(rawValue: NSValidationNumberTooLargeError) }
  /// A number is too small.
  public static var validationNumberTooSmall: CocoaError.Code { CocoaError.Code(rawValue: NSValidationNumberTooSmallError) }
  /// A date is too late.
  public static var validationDateTooLate: CocoaError.Code { CocoaError.Code(rawValue: NSValidationDateTooLateError) }
  /// A date is too soon.
  public static var validationDateTooSoon: CocoaError.Code { CocoaError.Code(rawValue: NSValidationDateTooSoonError) }
  /// A date is none.
  public static var validationInvalidDate: CocoaError.Code { CocoaError.Code(rawValue: NSValidationInvalidDateError) }
  /// A text is too long.
  public static var validationStringTooLong: CocoaError.Code { CocoaError.Code(rawValue: NSValidationStringTooLongError) }
  /// A text is too short.
  public static var validationStringTooShort: CocoaError.Code { CocoaError.Code(rawValue: NSValidationStringTooShortError) }
  /// A text does not match its pattern.
  public static var validationStringPatternMatching: CocoaError.Code { CocoaError.Code(rawValue: NSValidationStringPatternMatchingError) }
  /// A URI is none.
  public static var validationInvalidURI: CocoaError.Code { CocoaError.Code(rawValue: NSValidationInvalidURIError) }
  /// A context could not be locked.
  public static var managedObjectContextLocking: CocoaError.Code { CocoaError.Code(rawValue: NSManagedObjectContextLockingError) }
  /// A coordinator could not be locked.
  public static var persistentStoreCoordinatorLocking: CocoaError.Code {
    CocoaError.Code(rawValue: NSPersistentStoreCoordinatorLockingError)
  }
  /// The row of an object is gone.
  public static var managedObjectReferentialIntegrity: CocoaError.Code {
    CocoaError.Code(rawValue: NSManagedObjectReferentialIntegrityError)
  }
  /// An object of another store is referred to.
  public static var managedObjectExternalRelationship: CocoaError.Code {
    CocoaError.Code(rawValue: NSManagedObjectExternalRelationshipError)
  }
  /// A row was changed by others.
  public static var managedObjectMerge: CocoaError.Code { CocoaError.Code(rawValue: NSManagedObjectMergeError) }
  /// A unique value is taken.
  public static var managedObjectConstraintMerge: CocoaError.Code { CocoaError.Code(rawValue: NSManagedObjectConstraintMergeError) }
  /// There are no stores of a type.
  public static var persistentStoreInvalidType: CocoaError.Code { CocoaError.Code(rawValue: NSPersistentStoreInvalidTypeError) }
  /// A store is of another type.
  public static var persistentStoreTypeMismatch: CocoaError.Code { CocoaError.Code(rawValue: NSPersistentStoreTypeMismatchError) }
  /// A store has another schema.
  public static var persistentStoreIncompatibleSchema: CocoaError.Code {
    CocoaError.Code(rawValue: NSPersistentStoreIncompatibleSchemaError)
  }
  /// A store could not be saved to.
  public static var persistentStoreSave: CocoaError.Code { CocoaError.Code(rawValue: NSPersistentStoreSaveError) }
  /// Some stores could not be saved to.
  public static var persistentStoreIncompleteSave: CocoaError.Code { CocoaError.Code(rawValue: NSPersistentStoreIncompleteSaveError) }
  /// A save has conflicts.
  public static var persistentStoreSaveConflicts: CocoaError.Code { CocoaError.Code(rawValue: NSPersistentStoreSaveConflictsError) }
  /// Something is wrong that has no number of its own.
  public static var coreData: CocoaError.Code { CocoaError.Code(rawValue: NSCoreDataError) }
  /// A store's work has failed.
  public static var persistentStoreOperation: CocoaError.Code { CocoaError.Code(rawValue: NSPersistentStoreOperationError) }
  /// The store cannot be opened.
  public static var persistentStoreOpen: CocoaError.Code { CocoaError.Code(rawValue: NSPersistentStoreOpenError) }
  /// Others kept a store for too long.
  public static var persistentStoreTimeout: CocoaError.Code { CocoaError.Code(rawValue: NSPersistentStoreTimeoutError) }
  /// A store does not know a request.
  public static var persistentStoreUnsupportedRequestType: CocoaError.Code {
    CocoaError.Code(rawValue: NSPersistentStoreUnsupportedRequestTypeError)
  }
  /// The store was made with another model.
  public static var persistentStoreIncompatibleVersionHash: CocoaError.Code {
    CocoaError.Code(rawValue: NSPersistentStoreIncompatibleVersionHashError)
  }
  /// A migration has failed.
  public static var migration: CocoaError.Code { CocoaError.Code(rawValue: NSMigrationError) }
  /// A migration would store a unique value twice.
  public static var migrationConstraintViolation: CocoaError.Code { CocoaError.Code(rawValue: NSMigrationConstraintViolationError) }
  /// A migration was called off.
  public static var migrationCancelled: CocoaError.Code { CocoaError.Code(rawValue: NSMigrationCancelledError) }
  /// The model of a store is not known.
  public static var migrationMissingSourceModel: CocoaError.Code { CocoaError.Code(rawValue: NSMigrationMissingSourceModelError) }
  /// No way to the model is known.
  public static var migrationMissingMappingModel: CocoaError.Code { CocoaError.Code(rawValue: NSMigrationMissingMappingModelError) }
  /// The store that is migrated has failed.
  public static var migrationManagerSourceStore: CocoaError.Code { CocoaError.Code(rawValue: NSMigrationManagerSourceStoreError) }
  /// The store that is migrated to has failed.
  public static var migrationManagerDestinationStore: CocoaError.Code { CocoaError.Code(rawValue: NSMigrationManagerDestinationStoreError) }
  /// A migration's policy has failed.
  public static var entityMigrationPolicy: CocoaError.Code { CocoaError.Code(rawValue: NSEntityMigrationPolicyError) }
  /// The database has failed.
  public static var sqlite: CocoaError.Code { CocoaError.Code(rawValue: NSSQLiteError) }
  /// The way to the model cannot be inferred.
  public static var inferredMappingModel: CocoaError.Code { CocoaError.Code(rawValue: NSInferredMappingModelError) }
  /// A record could not be imported.
  public static var externalRecordImport: CocoaError.Code { CocoaError.Code(rawValue: NSExternalRecordImportError) }
  /// A place in the history is gone.
  public static var persistentHistoryTokenExpired: CocoaError.Code { CocoaError.Code(rawValue: NSPersistentHistoryTokenExpiredError) }
}

extension CocoaError {
  /// A value is not valid.
  public static var managedObjectValidation: CocoaError.Code { .managedObjectValidation }
  /// A unique value is taken.
  public static var managedObjectConstraintValidation: CocoaError.Code { .managedObjectConstraintValidation }
  /// Several objects cannot be saved: the errors are under ``NSDetailedErrorsKey``.
  public static var validationMultipleErrors: CocoaError.Code { .validationMultipleErrors }
  /// A required value is missing.
  public static var validationMissingMandatoryProperty: CocoaError.Code { .validationMissingMandatoryProperty }
  /// A relationship has too few objects.
  public static var validationRelationshipLacksMinimumCount: CocoaError.Code { .validationRelationshipLacksMinimumCount }
  /// A relationship has too many objects.
  public static var validationRelationshipExceedsMaximumCount: CocoaError.Code { .validationRelationshipExceedsMaximumCount }
  /// A delete rule denies a deletion.
  public static var validationRelationshipDeniedDelete: CocoaError.Code { .validationRelationshipDeniedDelete }
  /// A number is too large.
  public static var validationNumberTooLarge: CocoaError.Code { .validationNumberTooLarge }
  /// A number is too small.
  public static var validationNumberTooSmall: CocoaError.Code { .validationNumberTooSmall }
  /// A date is too late.
  public static var validationDateTooLate: CocoaError.Code { .validationDateTooLate }
  /// A date is too soon.
  public static var validationDateTooSoon: CocoaError.Code { .validationDateTooSoon }
  /// A date is none.
  public static var validationInvalidDate: CocoaError.Code { .validationInvalidDate }
  /// A text is too long.
  public static var validationStringTooLong: CocoaError.Code { .validationStringTooLong }
  /// A text is too short.
  public static var validationStringTooShort: CocoaError.Code { .validationStringTooShort }
  /// A text does not match its pattern.
  public static var validationStringPatternMatching: CocoaError.Code { .validationStringPatternMatching }
  /// A URI is none.
  public static var validationInvalidURI: CocoaError.Code { .validationInvalidURI }
  /// A context could not be locked.
  public static var managedObjectContextLocking: CocoaError.Code { .managedObjectContextLocking }
  /// A coordinator could not be locked.
  public static var persistentStoreCoordinatorLocking: CocoaError.Code { .persistentStoreCoordinatorLocking }
  /// The row of an object is gone.
  public static var managedObjectReferentialIntegrity: CocoaError.Code { .managedObjectReferentialIntegrity }
  /// An object of another store is referred to.
  public static var managedObjectExternalRelationship: CocoaError.Code { .managedObjectExternalRelationship }
  /// A row was changed by others.
  public static var managedObjectMerge: CocoaError.Code { .managedObjectMerge }
  /// A unique value is taken.
  public static var managedObjectConstraintMerge: CocoaError.Code { .managedObjectConstraintMerge }
  /// There are no stores of a type.
  public static var persistentStoreInvalidType: CocoaError.Code { .persistentStoreInvalidType }
  /// A store is of another type.
  public static var persistentStoreTypeMismatch: CocoaError.Code { .persistentStoreTypeMismatch }
  /// A store has another schema.
  public static var persistentStoreIncompatibleSchema: CocoaError.Code { .persistentStoreIncompatibleSchema }
  /// A store could not be saved to.
  public static var persistentStoreSave: CocoaError.Code { .persistentStoreSave }
  /// Some stores could not be saved to.
  public static var persistentStoreIncompleteSave: CocoaError.Code { .persistentStoreIncompleteSave }
  /// A save has conflicts.
  public static var persistentStoreSaveConflicts: CocoaError.Code { .persistentStoreSaveConflicts }
  /// Something is wrong that has no number of its own.
  public static var coreData: CocoaError.Code { .coreData }
  /// A store's work has failed.
  public static var persistentStoreOperation: CocoaError.Code { .persistentStoreOperation }
  /// The store cannot be opened.
  public static var persistentStoreOpen: CocoaError.Code { .persistentStoreOpen }
  /// Others kept a store for too long.
  public static var persistentStoreTimeout: CocoaError.Code { .persistentStoreTimeout }
  /// A store does not know a request.
  public static var persistentStoreUnsupportedRequestType: CocoaError.Code { .persistentStoreUnsupportedRequestType }
  /// The store was made with another model.
  public static var persistentStoreIncompatibleVersionHash: CocoaError.Code { .persistentStoreIncompatibleVersionHash }
  /// A migration has failed.
  public static var migration: CocoaError.Code { .migration }
  /// A migration would store a unique value twice.
  public static var migrationConstraintViolation: CocoaError.Code { .migrationConstraintViolation }
  /// A migration was called off.
  public static var migrationCancelled: CocoaError.Code { .migrationCancelled }
  /// The model of a store is not known.
  public static var migrationMissingSourceModel: CocoaError.Code { .migrationMissingSourceModel }
  /// No way to the model is known.
  public static var migrationMissingMappingModel: CocoaError.Code { .migrationMissingMappingModel }
  /// The store that is migrated has failed.
  public static var migrationManagerSourceStore: CocoaError.Code { .migrationManagerSourceStore }
  /// The store that is migrated to has failed.
  public static var migrationManagerDestinationStore: CocoaError.Code { .migrationManagerDestinationStore }
  /// A migration's policy has failed.
  public static var entityMigrationPolicy: CocoaError.Code { .entityMigrationPolicy }
  /// The database has failed.
  public static var sqlite: CocoaError.Code { .sqlite }
  /// The way to the model cannot be inferred.
  public static var inferredMappingModel: CocoaError.Code { .inferredMappingModel }
  /// A record could not be imported.
  public static var externalRecordImport: CocoaError.Code { .externalRecordImport }
  /// A place in the history is gone.
  public static var persistentHistoryTokenExpired: CocoaError.Code { .persistentHistoryTokenExpired }
}
