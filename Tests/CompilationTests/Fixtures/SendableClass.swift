// A class of objects with an invalid `Sendable` conformance.
import ObjectContext

final class Book: ManagedObject, Sendable {}  // ERROR: 'Sendable' class
