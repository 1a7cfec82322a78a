// An agent of the operator's, and a class loader.
public class Agent extends ClassLoader {
  public Agent(ClassLoader parent) { super(parent); }
  public static void premain(String words) { System.out.println("premain " + System.getenv("QUERY_STRING")); }
}
