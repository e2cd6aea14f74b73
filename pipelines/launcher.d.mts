/** Types of launcher.mjs, which is plain JavaScript. */
export declare const runsTypeScript: (version: string) => boolean;
export declare const nodePackage: (platform: string, arch: string) => string;
export declare const allocating: (platform: string, environment: NodeJS.ProcessEnv) => NodeJS.ProcessEnv | null;
export declare const settleAllocation: () => void;
