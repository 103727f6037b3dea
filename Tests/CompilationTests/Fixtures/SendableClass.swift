// A class of objects that claims to be safe everywhere.
import ObjectContext

final class Book: ManagedObject, Sendable {}  // ERROR: 'Sendable' class
